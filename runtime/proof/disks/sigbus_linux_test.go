package disks_test

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A store that keeps nothing free writes into a mapped file for which there is
// no space: a signal ends the process in the middle of a commit. What was sent
// is recorded, and another process goes on when there is space.
//
// Seen red with calls that are sent before their intents are durable.
func TestDiskIsGoneUnderAWrite(t *testing.T) {
	t.Parallel()
	disk := mountSmall(t, "192m")
	w := newWorld(t, filepath.Join(disk.dir, "store"))
	var all []string
	died := 0
	for round := range *faults {
		runs := runsOf(fmt.Sprintf("bus%d", round), 40)
		all = append(all, runs...)
		n := 0
		w.receiver.set(func(string) {
			if n++; n == 10+round*7%100 {
				disk.take(0)
			}
		})
		p := w.spawn(-1, runs)
		if p.faulted() {
			died++
		}
		w.receiver.set(nil)
		w.judge(fmt.Sprintf("round %d, after the fault", round), all)
		disk.giveBack()
		w.spawn(-1, all).end()
		w.once(all)
	}
	if died != *faults {
		t.Errorf("%d of %d processes lost their disk under a write", died, *faults)
	}
	t.Logf("%d processes ended by the fault, %d effects", died, len(w.receiver.effects()))
}

// faulted waits for the process's end and reports whether a write to memory
// without a page of the disk ended it.
func (p *process) faulted() bool {
	p.t.Helper()
	var err error
	for err == nil {
		var t told
		if err = p.out.Decode(&t); err == nil && t.What == "rest" {
			_ = p.in.Close()
		}
	}
	if !errors.Is(err, io.EOF) {
		p.t.Error(err)
	}
	var exit *exec.ExitError
	if err := p.cmd.Wait(); !errors.As(err, &exit) {
		p.t.Errorf("the process ended with %v", err)
		return false
	}
	status := exit.Sys().(syscall.WaitStatus)
	said := p.stderr.String()
	if status.Signaled() && status.Signal() == syscall.SIGBUS ||
		status.ExitStatus() == 2 && strings.Contains(said, "SIGBUS") {
		return true
	}
	p.t.Errorf("the process ended with %v:\n%s", exit, said)
	return false
}
