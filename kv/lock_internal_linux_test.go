package kv

import (
	"syscall"
	"testing"
)

// A process that is started while the store is open has the lock's file until
// it becomes its program; a store that is closed meanwhile can be opened again.
// Seen red without the unlocking.
func TestLockEndsWhileAChildIsBeingStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := syscall.Dup(int(lock.handle.Fd())) // as fork does
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(inherited) }()
	if err := lock.release(); err != nil {
		t.Fatal(err)
	}
	again, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.release(); err != nil {
		t.Error(err)
	}
}
