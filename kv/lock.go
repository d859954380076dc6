package kv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// The lock is the one that Badger would take, with the same file for the
// owner's process id, so Badger's own tools respect it. It is taken here since
// the directory is tidied before Badger sees it, which nobody else may do at
// the same time.

// dirLock is the lock of an open store's directory.
type dirLock struct {
	dir string // as it was named
	// path leads to the directory wherever it is moved, where the system has such
	// paths; else it is dir. Badger works by names: in a directory that somebody
	// has put in the place of its own it would delete what is another's.
	path   string
	handle *os.File
}

// lockDir takes the lock of dir, or returns a [LockedError].
func lockDir(dir string) (*dirLock, error) {
	handle, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	locked, err := tryLock(handle)
	if err == nil && !locked {
		err = &LockedError{Dir: dir, PID: lockOwner(dir)}
	}
	if err == nil {
		err = os.WriteFile(pidFile(dir), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, handle.Close())
	}
	return &dirLock{dir: dir, path: within(dir, handle), handle: handle}, nil
}

// named says an error of what works with path in the words of people: with dir.
func (l *dirLock) named(err error) error {
	if err == nil || l.path == l.dir {
		return err
	}
	var file *fs.PathError
	if errors.As(err, &file) {
		file.Path = strings.ReplaceAll(file.Path, l.path, l.dir)
	}
	return &renamedError{err, strings.ReplaceAll(err.Error(), l.path, l.dir)}
}

// renamedError is an error with another text.
type renamedError struct {
	error
	text string
}

func (e *renamedError) Error() string { return e.text }
func (e *renamedError) Unwrap() error { return e.error }

// moved is an error if the directory is not where it was when it was locked.
func (l *dirLock) moved() error {
	own, err := l.handle.Stat()
	if err != nil {
		return err
	}
	if there, err := os.Stat(l.dir); err != nil || !os.SameFile(own, there) {
		return fmt.Errorf("%s was moved away, removed or replaced while it was open; put it back where it was, or end this process", l.dir)
	}
	return nil
}

// release gives the lock back, the file first: afterwards it is another's.
func (l *dirLock) release() error {
	return errors.Join(os.Remove(pidFile(l.path)), unlock(l.handle), l.handle.Close())
}

func pidFile(dir string) string { return filepath.Join(dir, "LOCK") }

// lockOwner returns the process id that the owner of dir wrote down, or 0. The
// file is no lock; one that a dead process left behind is not believed.
func lockOwner(dir string) int {
	text, err := os.ReadFile(pidFile(dir))
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
