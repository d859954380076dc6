package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Seen red with the ticks left out, and with a stage that is told in any case.
func TestNothingIsSilentForLong(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		silent time.Duration
		want   string
	}{
		"told at once": {0, "build x\n  still at it after 5.0 s\n  still at it after 10.0 s\ncompile x\n"},
		"only if slow": {2 * time.Second, "build x\n  still at it after 7.0 s\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				s := &stages{g: &Globals{stderr: &out}, silent: row.silent}
				s.next("build x")
				time.Sleep(11 * time.Second)
				s.next("compile x")
				time.Sleep(time.Second)
				s.end()
				s.end()
				time.Sleep(time.Minute)
				if diff := cmp.Diff(row.want, out.String()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
