package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// rightsHint says which right to the data directory is missing, whose, and what
// to do; it is empty for an error that is about something else.
func rightsHint(dir string, err error) string {
	if errors.Is(err, syscall.EROFS) {
		return fmt.Sprintf("the file system of %s is mounted read-only: mount it for writing, or use another directory with --data DIR or PAWL_DATA", dir)
	}
	if !errors.Is(err, fs.ErrPermission) {
		return ""
	}
	return fmt.Sprintf("user %d may not %s, and needs to read, write and enter %s and to read and write all files in it: "+
		"let the owner give these rights, run pawl as the owner, or use another directory with --data DIR or PAWL_DATA", os.Getuid(), lacking(dir, err), dir)
}

// lacking is what was tried in vain.
func lacking(dir string, err error) string {
	var at *fs.PathError
	switch {
	case !errors.As(err, &at):
		return "use " + dir
	case at.Op == "mkdir":
		return "make " + at.Path
	case filepath.Clean(at.Path) == filepath.Clean(dir):
		return "read " + at.Path
	}
	if _, err := os.Lstat(at.Path); errors.Is(err, fs.ErrNotExist) {
		return "write into " + filepath.Dir(at.Path)
	}
	return "read and write " + at.Path
}
