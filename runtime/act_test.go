package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

var ana = pawl.Principal{Name: "ana", Roles: []string{"operator"}}

// seen is what whoever looks at the run now is shown.
func (b *bundle) seen(ref string) string {
	b.t.Helper()
	c := b.document(ref)
	if len(c.Actions) != 1 || c.Actions[0].Action != "resume" {
		b.t.Fatalf("state %s: actions %+v", c.State, c.Actions)
	}
	return c.Actions[0].Seen
}

// actAtOnce acts n times with what was seen, and counts who acted; all others
// have to be told that they were late.
func actAtOnce(t *testing.T, n int, seen string, runs ...*pawl.Run) (acted int) {
	t.Helper()
	errs := make(chan error, n)
	var people sync.WaitGroup
	for i := range n {
		people.Go(func() { errs <- runs[i%len(runs)].Act(t.Context(), ana, pawl.Resume{Seen: seen}) })
	}
	people.Wait()
	close(errs)
	for err := range errs {
		switch {
		case err == nil:
			acted++
		case !errors.Is(err, pawl.ErrStale) && !errors.Is(err, pawl.ErrAlreadyRunning):
			t.Errorf("act: %v", err)
		}
	}
	return acted
}

const manyAttempts = "tools = [\"flaky\"]\nretry = { attempts = 300, backoff = \"1h\", max_backoff = \"1h\" }"

// A run whose tool was down, and still is: a hundred people who were shown the
// same press resume at once, some of them after the first one's attempt has
// failed again. There is one further attempt and one further call. Whoever looks
// again may act again, once.
//
// Seen red without the comparison under the lease (rows of runs that leave), and
// without the one of a run that sleeps (the others).
func TestManyPeopleResumeOnce(t *testing.T) {
	t.Parallel()
	down, lost := host.NotApplied(errors.New("down")), errors.New("the answer is lost")
	alone := func(b *bundle) {
		b.opts.NoRecovery = true
		b.reopen()
	}
	for name, row := range map[string]struct {
		effect host.Class
		answer error
		rests  pawl.RunState
		before func(b *bundle)
	}{
		"a run that sleeps":                        {host.Read, down, pawl.StateWaiting, func(*bundle) {}},
		"a run that waits, and nobody executes it": {host.Read, down, pawl.StateWaiting, alone},
		"a run that needs a decision":              {host.Keyed, lost, pawl.StateNeedsDecision, alone},
		"a run that was interrupted": {host.Keyed, lost, pawl.StateNeedsDecision, func(b *bundle) {
			alone(b)
			b.crashAt(at(pawl.Sent))
			b.reopen()
			r := b.find("r1")
			if err := r.Resume(); err != nil {
				b.t.Fatal(err)
			}
			b.crashed(r)
			b.crashAt(nil)
			b.reopen()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var flaky counter
			b := setup(t, flaky.tool("flaky", host.Contract{Effect: row.effect}, func(int64, *host.Call) (any, error) {
				return nil, row.answer
			}))
			w := b.deploy(folder(t, "[budget]\nattempts = 300", manyAttempts))
			b.wait(b.start(w, "r1", `{"one":[{"call":"flaky"}]}`), time.Minute)
			row.before(b)
			r := b.find("r1")
			for range 3 {
				sent, seen := flaky.sent.Load(), b.seen("r1")
				if acted := actAtOnce(t, 100, seen, r, b.find("r1")); acted != 1 {
					t.Errorf("%d acted", acted)
				}
				c := b.wait(r, time.Minute)
				if again := flaky.sent.Load() - sent; again != 1 || c.State != row.rests {
					t.Errorf("%d further calls, state %s", again, c.State)
				}
				for range 2 {
					if err := r.Act(t.Context(), ana, pawl.Resume{Seen: seen}); !errors.Is(err, pawl.ErrStale) {
						t.Errorf("with what was seen before: %v", err)
					}
				}
				if again := flaky.sent.Load() - sent; again != 1 {
					t.Errorf("%d further calls", again)
				}
			}
		})
	}
}

// The same for a run that needs a decision, from two engines on one store: one
// call more, whoever has the run meanwhile.
//
// Seen red without the comparison under the lease.
func TestTwoEnginesActOnce(t *testing.T) {
	t.Parallel()
	p := newPair(t, time.Minute)
	runs := p.parked("r1")
	c, err := runs[1].Checkpoint()
	if err != nil || c.State != pawl.StateNeedsDecision || len(c.Actions) != 1 {
		t.Fatalf("%v: %+v", err, c)
	}
	seen := c.Actions[0].Seen
	if acted := actAtOnce(t, 40, seen, runs...); acted != 1 {
		t.Errorf("%d acted", acted)
	}
	close(<-p.to.arrived)
	for _, r := range runs {
		if _, err = r.Wait(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	if acted := actAtOnce(t, 40, seen, runs...); acted != 0 {
		t.Errorf("%d acted later", acted)
	}
	if keys, sent := p.to.count(runs[0].ID()); keys > 2 || sent > 3 { // the lost one, the one that was asked for, the second step's
		t.Errorf("%d keys, sent %d times", keys, sent)
	}
}

// late is a store that lets somebody else do something first, once.
type late struct {
	kv.Store
	mu     sync.Mutex
	before func() // the next commit
	behind func() // the next view
}

func (l *late) once(f *func()) {
	l.mu.Lock()
	now := *f
	*f = nil
	l.mu.Unlock()
	if now != nil {
		now()
	}
}

func (l *late) Commit(b *kv.Batch) kv.Pending {
	l.once(&l.before)
	return l.Store.Commit(b)
}

func (l *late) View(f func(kv.View) error) error {
	defer l.once(&l.behind)
	return l.Store.View(f)
}

// Somebody acts just when another one's act has read the run: one of them acts,
// although the run would rest again before the other went on.
//
// Seen red with the document compared before the run is taken.
func TestActBetweenReadingAndTaking(t *testing.T) {
	t.Parallel()
	var lost counter
	b := setup(t, lost.tool("flaky", host.Contract{Effect: host.Keyed}, func(int64, *host.Call) (any, error) {
		return nil, errors.New("the answer is lost")
	}))
	w := b.deploy(folder(t, "", manyAttempts))
	b.rest(b.start(w, "r1", `{"one":[{"call":"flaky"}]}`))
	var store *late
	b.wrap = func(s kv.Store) kv.Store { store = &late{Store: s}; return store }
	b.reopen()
	r, seen, acted := b.find("r1"), b.seen("r1"), 0
	act := func() {
		err := r.Act(t.Context(), ana, pawl.Resume{Seen: seen})
		if err == nil {
			acted++
			b.rest(r)
		} else if !errors.Is(err, pawl.ErrStale) && !errors.Is(err, pawl.ErrAlreadyRunning) {
			t.Error(err)
		}
	}
	store.behind = act
	act()
	if acted != 1 || lost.sent.Load() != 2 {
		t.Errorf("%d acted, sent %d times", acted, lost.sent.Load())
	}
}

// An owner that is late writes a record after the run was read for whoever acts,
// and before the act's first record: then the run is not what was shown any
// more, and it is left as it is. Who was shown nothing goes on with it.
//
// Seen red with what is read anew not compared.
func TestRunThatChangesUnderAnAct(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(r *pawl.Run, seen string) error{
		"shown":   func(r *pawl.Run, seen string) error { return r.Act(t.Context(), ana, pawl.Resume{Seen: seen}) },
		"unshown": func(r *pawl.Run, _ string) error { return r.Act(t.Context(), ana, pawl.Resume{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keyed, _, tools := keyedAndRead()
			b := setup(t, tools...)
			w := b.deploy(folder(t, "", `tools = ["keyed"]`))
			b.opts.NoRecovery = true
			var store *late
			b.wrap = func(s kv.Store) kv.Store { store = &late{Store: s}; return store }
			b.reopen()
			w, err := b.engine.Workflow(w.Name())
			if err != nil {
				t.Fatal(err)
			}
			f := b.forger(w)
			f.begin(1, "r1", `{"one":[{"call":"keyed"}]}`, nil, nil)
			r := b.find("r1")
			owner, err := f.book.Open(r.ID(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer owner.Close()
			seen := b.seen("r1")
			store.before = func() {
				if err := owner.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if err := act(r, seen); err != nil {
				t.Fatal(err)
			}
			_, err = r.Wait(t.Context(), time.Minute)
			if shown := name == "shown"; shown != errors.Is(err, pawl.ErrStale) || shown != (keyed.sent.Load() == 0) {
				t.Errorf("%v, sent %d times", err, keyed.sent.Load())
			}
			if now := b.document("r1"); name == "shown" && (now.State != pawl.StateInterrupted || now.Actions[0].Seen == seen) {
				t.Errorf("state %s, %+v", now.State, now.Actions)
			}
		})
	}
}

// What was shown is bound to the run and to all its records; an act on an ended
// run is late, or does nothing for whoever was shown nothing.
//
// Seen red with a completed run found before it is compared.
func TestWhatIsStale(t *testing.T) {
	t.Parallel()
	var flaky counter
	b := setup(t, downOnce(&flaky, host.Contract{Effect: host.Read}))
	r := waiting(t, b)
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	b.wait(b.start(w, "other", `{"one":[{"not_yet":"later","after":3}]}`), time.Minute)
	seen := b.seen("r1")
	for what, other := range map[string]string{"something else": "sha256:00", "of another run": b.seen("other")} {
		if err := r.Act(t.Context(), ana, pawl.Resume{Seen: other}); !errors.Is(err, pawl.ErrStale) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := r.Act(t.Context(), ana, pawl.Resume{Seen: seen}); err != nil {
		t.Fatal(err)
	}
	completed(t, b.rest(r))
	if err := r.Act(t.Context(), ana, pawl.Resume{Seen: seen}); !errors.Is(err, pawl.ErrStale) {
		t.Errorf("on the ended run: %v", err)
	}
	if err := r.Act(t.Context(), ana, pawl.Resume{}); err != nil {
		t.Errorf("on the ended run, shown nothing: %v", err)
	}
}

// foreign is an act that somebody else made up.
type foreign struct{ pawl.Act }

// An act is one of the package's, and nobody acts for a request that has ended.
// Who acted is logged, once for each act.
//
// Seen red with an unknown act passed over, and with the context not looked at.
func TestActsAreTheOnesOfThePackage(t *testing.T) {
	t.Parallel()
	var flaky counter
	b := setup(t, downOnce(&flaky, host.Contract{Effect: host.Read}))
	var lines bytes.Buffer
	b.opts.Logger = slog.New(slog.NewJSONHandler(&lines, nil))
	waiting(t, b)
	b.reopen()
	r := b.find("r1")
	var none *pawl.Resume
	for what, act := range map[string]pawl.Act{"nil": nil, "foreign": foreign{}, "embedded": foreign{pawl.Resume{}}, "pointer": none} {
		if err := r.Act(t.Context(), ana, act); !errors.Is(err, pawl.ErrInvalidInput) {
			t.Errorf("%s: %v", what, err)
		}
	}
	over, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if err := r.Act(over, ana, pawl.Resume{}); !errors.Is(err, gone) {
		t.Errorf("for a request that has ended: %v", err)
	}
	if flaky.sent.Load() != 1 {
		t.Errorf("sent %d times", flaky.sent.Load())
	}
	if err := r.Act(t.Context(), ana, pawl.Resume{Seen: b.seen("r1")}); err != nil {
		t.Fatal(err)
	}
	completed(t, b.rest(r))
	acts := 0
	for line := range bytes.Lines(lines.Bytes()) {
		var l struct{ Msg, Run, Action, Principal string }
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		if l.Msg == "act" {
			acts++
			if want := fmt.Sprint("resume ", ana.Name, " ", r.ID()); fmt.Sprint(l.Action, " ", l.Principal, " ", l.Run) != want {
				t.Errorf("%s, want %s", line, want)
			}
		}
	}
	if acts != 1 {
		t.Errorf("%d lines: %s", acts, lines.Bytes())
	}
}

// Whoever resumes a run of which an effect is unknown lets the steps after it
// happen too, and is told so.
//
// Seen red without the steps that follow.
func TestActionSaysWhichStepsFollow(t *testing.T) {
	t.Parallel()
	c, err := newPair(t, time.Minute).parked("r1")[0].Checkpoint()
	if err != nil || len(c.Actions) != 1 {
		t.Fatalf("%v: %+v", err, c)
	}
	if does := c.Actions[0].Does; !strings.HasSuffix(does, "; once that is done, goes on with one, two") {
		t.Errorf("does %q", does)
	}
}
