package swebench

import "slices"

// Artifact is a file of a run that can be fetched.
type Artifact struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// ArtifactNames returns the names that an artifact can have, in the order in which a
// service lists them.
func ArtifactNames() [5]string {
	return [5]string{FilePreds, FileAgentLog, FileEvalLog, FileResults, FileStatus}
}

// IsArtifact reports whether name is one of [ArtifactNames].
func IsArtifact(name string) bool {
	names := ArtifactNames()
	return slices.Contains(names[:], name)
}

// ArtifactPath is the path under which a service serves an artifact, and the only URL of
// it that a scorer follows.
func ArtifactPath(runID, name string) string {
	return "/v1/runs/" + runID + "/artifacts/" + name
}
