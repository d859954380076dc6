package kv

import (
	"testing"
	"testing/synctest"
	"time"
)

// Seen red with a look each second for ever.
func TestTrimmerOfAnIdleStoreSleeps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		x := &trimmer{used: make(chan struct{}, 1), stop: make(chan struct{})}
		begun := time.Now()
		used := time.AfterFunc(10*time.Second-1, x.look)
		defer used.Stop()
		if stopped, err := x.whileUsed(dir); stopped || err != nil {
			t.Fatal(stopped, err)
		}
		if got := time.Since(begun); got < trimQuiet+9*time.Second || got > trimQuiet+11*time.Second {
			t.Errorf("looked for %v", got)
		}
	})
}
