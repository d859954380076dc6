package kills_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/kv/kvtest"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/proof"
)

// Two processes come to one directory at the same moment, where one was killed
// at work before: one has it, the other is told by whom, and has executed
// nothing. When the owner is killed a third one goes on.
func TestProcessesThatMeet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	met := 0
	for range max(3, *kills/10) {
		first, second := w.spawn(nil), w.spawn(nil)
		<-first.opened
		<-second.opened
		for _, p := range []*process{first, second} {
			other := first
			if p == first {
				other = second
			}
			if p.isRefused(t, other) {
				met++
				other.kill()
			}
		}
		if !w.ended[first.number] && !w.ended[second.number] {
			t.Fatal("both have the directory")
		}
	}
	w.judge(w.drain())
	if met < 3 {
		t.Errorf("%d processes met another", met)
	}
}

// isRefused reports whether the process found the directory taken, and expects
// that it was told by whom.
func (p *process) isRefused(t *testing.T, owner *process) bool {
	t.Helper()
	said := p.begin
	if said.What != "refused" {
		return false
	}
	// The owner may not have written its number yet: it has the lock before.
	if want := fmt.Sprintf("locked by process %d", owner.cmd.Process.Pid); !strings.Contains(said.Text, want) && !strings.Contains(said.Text, "locked by another process") {
		t.Errorf("refused with %q, want something with %q", said.Text, want)
	}
	if err := p.wait(); err != nil {
		t.Error(err)
	}
	return true
}

// A process at work is asked for its directory: who asks is told its number.
func TestSecondProcessIsToldTheNumber(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.spawn(nil)
	<-p.opened
	_, err := kv.Open(w.store(), nil)
	var locked *kv.LockedError
	if !errors.As(err, &locked) || locked.PID != p.cmd.Process.Pid {
		t.Errorf("got %v, want process %d", err, p.cmd.Process.Pid)
	}
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil { // it stalls, and has it all the same
		t.Fatal(err)
	}
	if _, err := kv.Open(w.store(), nil); !errors.As(err, &locked) || locked.PID != p.cmd.Process.Pid {
		t.Errorf("of one that stands still: %v", err)
	}
	p.kill()
	w.judge(w.drain())
}

// counter is a receiver that both engines reach. It does a key once, and the
// first request of each run waits until it is let go.
type counter struct {
	mu      sync.Mutex
	sent    map[string]int // by run and key
	stalled map[string]bool
	arrived chan chan struct{}
}

func (c *counter) tool() host.Tool {
	return host.Func(pay, func(_ context.Context, call *host.Call, _ map[string]any) (any, error) {
		c.mu.Lock()
		c.sent[call.Run+" "+call.Key.String()]++
		first := !c.stalled[call.Run]
		c.stalled[call.Run] = true
		c.mu.Unlock()
		if first {
			release := make(chan struct{})
			c.arrived <- release
			<-release
		}
		return map[string]string{"key": call.Key.String()}, nil
	}, &host.FuncOptions{Contract: host.Contract{Effect: host.Keyed, Timeout: time.Minute}})
}

// An owner stalls in the middle of a call, and the disk that it shares loses its
// power or not; its lease ends, another engine takes the run over and completes
// it, and the owner wakes. Its receipt does not land: the run stays as it was
// completed, with one key for each call.
//
// Seen red without the requirement on the head.
func TestOwnerThatStallsOverAPowerCut(t *testing.T) {
	t.Parallel()
	to := &counter{sent: map[string]int{}, stalled: map[string]bool{}, arrived: make(chan chan struct{}, 1)}
	tools, err := host.NewRegistry(to.tool())
	if err != nil {
		t.Fatal(err)
	}
	cuts, fenced := 0, 0
	for i := range *rounds {
		disk := kvtest.NewDisk(&kvtest.DiskOptions{Shared: true})
		owner, endOwner := engineOn(t, disk, tools)
		workflow, err := owner.Deploy(t.Context(), payingFolder())
		if err != nil {
			t.Fatal(err)
		}
		late, err := pawl.Start(t.Context(), workflow, "r", map[string]string{"run": "r"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		release := <-to.arrived
		if rand.IntN(2) == 0 {
			disk.Cut()
			cuts++
		}
		disk.Pass(time.Hour)
		heir, endHeir := engineOn(t, disk, tools)
		c := takeOver(t, disk, heir)
		close(release)
		if _, err := late.Wait(t.Context(), 0); errors.Is(err, pawl.ErrFenced) {
			fenced++
		} else if !errors.Is(err, pawl.ErrUnavailable) && !errors.Is(err, kv.ErrStoreBroken) {
			t.Fatalf("round %d: the one that was late: %v", i, err)
		}
		endOwner()
		again, err := heir.Find("r")
		if err != nil {
			t.Fatal(err)
		}
		if after, err := again.Checkpoint(); err != nil || seenOf(after) != seenOf(c) || string(after.Output()) != string(c.Output()) {
			t.Fatalf("round %d: %v: %+v, was %+v", i, err, after, c)
		}
		keys, sent := to.count(c.Run)
		if keys != 2 || sent != 3 { // one by the owner, two by the heir
			t.Fatalf("round %d: %d keys, sent %d times", i, keys, sent)
		}
		if err := heir.Check(); err != nil {
			t.Fatal(err)
		}
		endHeir()
	}
	t.Logf("%d rounds, %d with a cut, fenced %d times", *rounds, cuts, fenced)
	if cuts == 0 || fenced == 0 {
		t.Error("hardly anything was tried")
	}
}

func (c *counter) count(run string) (keys, sent int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, n := range c.sent {
		if strings.HasPrefix(key, run+" ") {
			keys++
			sent += n
		}
	}
	return keys, sent
}

// takeOver goes on with the run when nobody has it any more, to its end.
func takeOver(t *testing.T, disk *kvtest.Disk, by *pawl.Engine) *pawl.Checkpoint {
	t.Helper()
	r, err := by.Find("r")
	if err != nil {
		t.Fatal(err)
	}
	err = r.Resume()
	for errors.Is(err, pawl.ErrAlreadyRunning) {
		disk.Pass(time.Hour) // the owner may renew just then
		err = r.Resume()
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Wait(t.Context(), time.Hour)
	if err != nil || c.State != pawl.StateCompleted {
		t.Fatalf("%v: %+v", err, c)
	}
	return c
}

func engineOn(t *testing.T, disk *kvtest.Disk, tools *host.Registry) (e *pawl.Engine, end func()) {
	t.Helper()
	store, err := disk.Open()
	if err != nil {
		t.Fatal(err)
	}
	e, err = pawl.Open(t.Context(), store, &pawl.Options{Tools: tools, CacheDir: proof.CacheDir(), NoRecovery: true})
	if err != nil {
		t.Fatal(err)
	}
	return e, func() {
		_ = e.Close() // the store of one of them has failed, which is not what this is about
		_ = store.Close()
	}
}
