//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package kv

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks an open file until it is closed, unless another has it.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// unlock ends the lock. Closing the file alone does not while another
// descriptor of it is open, and a process that is being started has one until
// it has become its program.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
