package swebench

// maxRunID is far above the 32 bytes of real IDs and below what file systems take.
const maxRunID = 200

// ValidRunID reports whether s is one or more ASCII letters, digits, "_" and "-", at most
// 200 of them. No other text may get into a path.
func ValidRunID(s string) bool {
	for i := range len(s) {
		c := s[i]
		if ('a' > c || c > 'z') && ('A' > c || c > 'Z') && ('0' > c || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= maxRunID
}
