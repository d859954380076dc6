package kv_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/pawl-dev/pawl/kv"
)

// limitChild commits until the operating system refuses: a limit on the size
// of files keeps Badger from beginning its next log. It says what came of each
// commit, and what the broken store then answers.
func limitChild(dir string) error {
	signal.Ignore(syscall.SIGXFSZ)
	store, err := kv.Open(dir, nil)
	if err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20}); err != nil {
		return err
	}
	err = store.View(func(v kv.View) error {
		for i := 0; ; i++ {
			b := batch(fmt.Sprintf("k%04d", i), noise(i))
			if err := store.Commit(b).Wait(context.Background()); err != nil {
				fmt.Println("commit:", errors.Is(err, kv.ErrStoreBroken), err)
				break
			}
			fmt.Println("durable", i)
		}
		_, err := v.Get([]byte("k0000"))
		fmt.Println("get in an old view:", errors.Is(err, kv.ErrStoreBroken))
		for _, err := range v.Scan(kv.Range{}) {
			fmt.Println("scan in an old view:", errors.Is(err, kv.ErrStoreBroken))
		}
		return nil
	})
	fmt.Println("old view:", err)
	fmt.Println("next commit:", errors.Is(store.Commit(batch("k", "v")).Wait(context.Background()), kv.ErrStoreBroken))
	fmt.Println("next view:", errors.Is(store.View(func(kv.View) error { return nil }), kv.ErrStoreBroken))
	err = store.Close()
	fmt.Println("close:", errors.Is(err, kv.ErrStoreBroken), err)
	return nil
}

// Seen red with views that are open not asking whether the store is broken.
func TestStoreThatCannotWriteIsBroken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startChild(t, "limit", dir)
	durable := 0
	line := c.line()
	for ; strings.HasPrefix(line, "durable"); line = c.line() {
		durable++
	}
	answers := line + "\n" + c.rest()
	if durable == 0 {
		t.Fatal("nothing was committed before the limit, so this shows nothing")
	}
	for _, want := range []string{
		"commit: true", "get in an old view: true", "scan in an old view: true", "old view: <nil>",
		"next commit: true", "next view: true", "close: true",
	} {
		if !strings.Contains("\n"+answers, "\n"+want) {
			t.Errorf("no %q in the child's answers:\n%s", want, answers)
		}
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	store := open(t, dir, nil)
	defer store.Close()
	err := store.View(func(v kv.View) error {
		found := 0
		for item, err := range v.Scan(kv.Range{}) {
			if err != nil {
				return err
			}
			if want := fmt.Sprintf("k%04d", found); string(item.Key) != want {
				t.Errorf("got %s, want %s", item.Key, want)
			}
			found++
		}
		if found < durable || found > durable+1 {
			t.Errorf("%d commits are there, %d were durable", found, durable)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// noise returns 64 KiB that do not compress: what Badger holds in memory must
// not fit below the limit either.
func noise(i int) string {
	out := make([]byte, 64<<10)
	_, _ = rand.NewChaCha8([32]byte{byte(i)}).Read(out)
	return string(out)
}
