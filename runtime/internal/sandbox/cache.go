package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// isCacheError tells an error of wazero's file cache, which has no type, from
// one of the module.
func isCacheError(err error) bool {
	var file *os.PathError
	return strings.Contains(err.Error(), "compilationcache: ") || errors.As(err, &file)
}

// emptyCache removes the compiled code of all modules. What other processes
// have read already stays theirs.
func emptyCache(dir string) error {
	if dir == "" {
		return nil
	}
	versions, err := os.ReadDir(dir) // the directory is no pattern
	if err != nil {
		return err
	}
	for _, version := range versions {
		if !strings.HasPrefix(version.Name(), "wazero-") {
			continue
		}
		files, err := os.ReadDir(filepath.Join(dir, version.Name()))
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := os.Remove(filepath.Join(dir, version.Name(), file.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
