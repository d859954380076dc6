package kv

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// lockError returns a [LockedError] if err, from opening Badger, says that
// another process has the directory; else nil. Badger wraps the cause as text,
// so the text is all there is to tell by.
func lockError(dir string, err error) error {
	if !strings.Contains(err.Error(), "Another process is using this Badger database") {
		return nil
	}
	return &LockedError{Dir: dir, PID: lockOwner(dir)}
}

// lockOwner returns the process id that the owner of dir wrote down, or 0. The
// file is no lock; one that a dead process left behind is not believed.
func lockOwner(dir string) int {
	text, err := os.ReadFile(filepath.Join(dir, "LOCK"))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 0 {
		return 0
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return 0
	}
	defer func() { _ = process.Release() }()
	if errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
		return 0
	}
	return pid
}
