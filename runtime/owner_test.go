package runtime_test

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// One run has one body, whoever asks for it at once: the others are told who
// has it, in this process and in another engine over the same store; another
// process is told who has the store.
//
// Seen red without leases.
func TestOneBodyWhoeverAsks(t *testing.T) {
	t.Parallel()
	var slow counter
	arrived, release := make(chan struct{}, 9), make(chan struct{})
	b := setup(t, slow.tool("keyed", host.Contract{Effect: host.Keyed}, func(int64, *host.Call) (any, error) {
		arrived <- struct{}{}
		<-release
		return nil, nil
	}), downOnce(new(counter), host.Contract{Effect: host.Read}))
	w := b.deploy(folder(t, "", "tools = [\"keyed\", \"flaky\"]\nretry = { attempts = 3, backoff = \"1h\", max_backoff = \"1h\" }"))
	r := b.start(w, "r1", `{"one":[{"call":"keyed"},{"call":"flaky"}]}`)
	<-arrived
	second, err := pawl.Open(t.Context(), b.store, &b.opts) // recovers what nobody has
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	theirs, err := second.Find("r1")
	if err != nil {
		t.Fatal(err)
	}
	askAll := func(resumes ...func() error) {
		var asked sync.WaitGroup
		for _, resume := range resumes {
			asked.Go(func() {
				if err := resume(); !errors.Is(err, pawl.ErrAlreadyRunning) || !strings.Contains(err.Error(), "pid-") {
					t.Errorf("resume: %v", err)
				}
			})
		}
		asked.Wait()
	}
	askAll(r.Resume, r.Resume, theirs.Resume, theirs.Resume)
	if h := second.Health(); h.Recovery.Elsewhere != 1 || h.Recovery.WentOn != 0 || h.Live != 0 {
		t.Errorf("%+v, %+v", h, h.Recovery)
	}
	_, err = kv.Open(b.dir, nil)
	var locked *kv.LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("another opening: %v", err)
	}
	close(release)
	if c := b.wait(r, time.Minute); c.State != pawl.StateWaiting {
		t.Fatalf("state %s: %+v", c.State, c.Reasons)
	}
	askAll(theirs.Resume, theirs.Resume) // it waits for its timer, and is this engine's all the same
	if err := b.engine.Close(); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Resume(); err != nil {
		t.Errorf("a run that was given up: %v", err)
	}
	if c, err := theirs.Wait(t.Context(), time.Minute); err != nil || c.State != pawl.StateCompleted {
		t.Errorf("%v: %+v", err, c)
	}
	if slow.sent.Load() != 1 {
		t.Errorf("sent %d times", slow.sent.Load())
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	b.reopen() // the first engine's lists know what it did itself
}
