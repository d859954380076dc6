package disks_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// smallDisk is a file system of its own that can be filled.
type smallDisk struct {
	t    *testing.T
	dir  string
	fill string
}

func mountSmall(t *testing.T, size string) *smallDisk {
	t.Helper()
	d := &smallDisk{t: t, dir: t.TempDir()}
	if err := syscall.Mount("tmpfs", d.dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("no small file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(d.dir, syscall.MNT_DETACH) })
	d.fill = filepath.Join(d.dir, "somebody else's")
	return d
}

// take writes a file of others until so many bytes are free.
func (d *smallDisk) take(leave int64) {
	f, err := os.OpenFile(d.fill, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		d.t.Error(err)
		return
	}
	defer f.Close()
	page := make([]byte, 1<<20)
	for err == nil && d.free() > leave {
		_, err = f.Write(page[:min(int64(len(page)), d.free()-leave)])
	}
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		d.t.Error(err)
	}
}

func (d *smallDisk) free() int64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.dir, &s); err != nil {
		d.t.Error(err)
	}
	return int64(s.Bavail) * s.Bsize
}

func (d *smallDisk) giveBack() {
	d.t.Helper()
	if err := os.Remove(d.fill); err != nil {
		d.t.Fatal(err)
	}
}

// Somebody else takes the space while runs are under way, down below what the
// store keeps free. The engine sends nothing that it cannot record, says what is
// wrong and what to do, can be read, and goes on by itself when there is space.
//
// Seen red with calls that are sent before their intents are durable.
func TestSpaceGoesAndReturns(t *testing.T) {
	t.Parallel()
	const reserve = 24 << 20
	disk := mountSmall(t, "128m")
	w := newWorld(t, filepath.Join(disk.dir, "store"))
	runs := runsOf("full", 40)
	n := 0
	w.receiver.set(func(string) {
		if n++; n == 30 {
			disk.take(reserve / 2)
		}
	})
	p := w.spawn(reserve, runs)
	h := p.ask("health").Health
	for ; h.Store.Condition != kv.Full || h.Since.IsZero() || h.Live != 0; h = p.ask("health").Health {
		if p.rest {
			t.Fatal("all runs ended on a full disk")
		}
		time.Sleep(5 * time.Millisecond)
	}
	if !strings.Contains(h.Store.Reason, "MiB left") || !strings.Contains(h.Store.Reason, "free some space") {
		t.Errorf("the reason: %q", h.Store.Reason)
	}
	sent := w.receiver.requests()
	w.judge("while the disk is full", runs)
	if read := p.ask("read"); read.Read < 2 || read.Text != "" {
		t.Errorf("%d runs could be read: %s", read.Read, read.Text)
	}
	if late := p.ask("begin"); !strings.Contains(late.Text, "not enough free space") {
		t.Errorf("a run was begun: %q", late.Text)
	}
	if now := w.receiver.requests(); now != sent || sent < 30 || sent >= effectsOfRun*len(runs) {
		t.Errorf("%d requests while the disk was full, %d before", now-sent, sent)
	}
	disk.giveBack()
	p.end()
	w.once(runs)
}
