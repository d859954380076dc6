package kv_test

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/pawl-dev/pawl/kv"
)

// stuckChild breaks its store by a limit on the size of files, under which
// Badger cannot be closed either, reopens it in vain, and again without the
// limit.
func stuckChild(dir string) error {
	signal.Ignore(syscall.SIGXFSZ)
	store, err := kv.Open(dir, nil)
	if err != nil {
		return err
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		return err
	}
	limit := func(bytes uint64) error {
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: before.Max})
	}
	if err := limit(1 << 20); err != nil {
		return err
	}
	durable := 0
	for ; err == nil; durable++ {
		err = store.Commit(batch(fmt.Sprintf("k%04d", durable), noise(durable))).Wait(context.Background())
	}
	fmt.Println("broken:", errors.Is(err, kv.ErrStoreBroken), durable > 10)
	err = store.Reopen(context.Background())
	fmt.Println("reopened in vain:", errors.Is(err, kv.ErrStoreBroken), err)
	fmt.Println("still broken:", store.Health().Condition)
	if err := limit(before.Cur); err != nil {
		return err
	}
	fmt.Println("reopened:", store.Reopen(context.Background()))
	err = store.View(func(v kv.View) error {
		for i := range durable - 1 {
			if _, err := v.Get(fmt.Appendf(nil, "k%04d", i)); err != nil {
				return fmt.Errorf("%d: %w", i, err)
			}
		}
		return nil
	})
	fmt.Println("all there:", err)
	fmt.Println("goes on:", store.Commit(batch("more", "x")).Wait(context.Background()))
	return store.Close()
}

// A Badger that cannot write does not close. A second one beside it would
// destroy the store, so reopening gives up after some seconds and can be tried
// again.
//
// Seen red with reopening that does not wait for Badger.
func TestReopeningWaitsForABadgerThatIsStuck(t *testing.T) {
	t.Parallel()
	got := startChild(t, "stuck", t.TempDir()).rest()
	for _, want := range []string{
		"broken: true true", "reopened in vain: true", "still broken: broken",
		"reopened: <nil>", "all there: <nil>", "goes on: <nil>",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in the child's answers:\n%s", want, got)
		}
	}
}
