// Package runnertest provides small instances in the style of SWE-bench, and a scripted model
// for them, so that everything between a dataset and a score can be tried without a dataset,
// without images and without a model.
//
//	set, err := runnertest.Write(dir, runnertest.Tasks()...)
//	cluster, err := routingtest.NewCluster(routingtest.ClusterConfig{
//		Backend: routingtest.BackendConfig{Reply: runnertest.Model(runnertest.Tasks()...)},
//	})
//
// The instances need git and a shell, and nothing else. Their repositories are folders that
// the rows name; see [runner.Workspace] for how they get into sandboxes.
package runnertest
