//go:build !unix

package service

import (
	"os"
	"path/filepath"
)

func lockRoot(root string) (*os.File, error) {
	return os.OpenFile(filepath.Join(root, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
}
