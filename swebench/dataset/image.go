package dataset

import "strings"

// ImageFor is the image in which an instance runs: the one that its row names, else that of
// the SWE-bench images for the architecture, "" meaning x86_64. The names that Go has for
// architectures are known, too. The instance's ID is in it in lower case, with _1776_ for
// every double underscore.
func ImageFor(row Row, arch string) string {
	if row.ImageName != "" {
		return row.ImageName
	}
	switch arch {
	case "", "amd64":
		arch = "x86_64"
	case "aarch64":
		arch = "arm64"
	}
	id := strings.ReplaceAll(row.InstanceID, "__", "_1776_")
	return strings.ToLower("docker.io/swebench/sweb.eval." + arch + "." + id + ":latest")
}
