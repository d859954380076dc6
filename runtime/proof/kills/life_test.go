package kills_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/host/httptool"
	"github.com/pawl-dev/pawl/host/toolfile"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/proof"
)

// life is what one process of the engine does, from its start until it is
// killed or has nothing left to do.
type life struct {
	Store, Tools string
	Number       int
	// Runs are those that are not known to rest; what their plans are is in their
	// ids. They are begun, if that was not done yet, or waited for.
	Runs []string
	// Want is how many runs shall be under way at any time. With 0 the process
	// ends when Runs rest.
	Want int
	// Urge resumes runs that rest and are not ended once more.
	Urge bool
	// Documents is a file for the documents of all runs, at the end; Known one
	// with the runs that have to be among them.
	Documents, Known string
}

// told is one thing that a life says on its standard output as soon as it can
// be relied on.
type told struct {
	What string // open, starting, started, seen, rest, refused, failed, unsound, undecodable, lost, unlisted
	Run  string // external id
	Text string // of open: the store's condition; of failed: why
	Seen seen
}

// seen is what must never go back.
type seen struct {
	State                                          pawl.RunState
	Seq                                            uint64
	Attempts, Calls, Recoveries, Work, Done, Units int64
}

func seenOf(c *pawl.Checkpoint) seen {
	b := c.Budgets
	return seen{
		State: c.State, Seq: c.Seq, Attempts: b.Attempts.Used, Calls: b.Calls.Used,
		Recoveries: b.Recoveries.Used, Work: b.Work.Used, Done: int64(len(c.CompletedSteps)), Units: b.Units["cents"].Used,
	}
}

// living is a life under way.
type living struct {
	*life
	engine *pawl.Engine

	mu  sync.Mutex // one line at a time
	out *bufio.Writer
}

func (l *life) live() (err error) {
	v := &living{life: l, out: bufio.NewWriter(os.Stdout)}
	tools, err := toolfile.Load(l.Tools, map[string]toolfile.Kind{"http": httptool.Kind})
	if err != nil {
		return err
	}
	store, err := kv.Open(l.Store, nil)
	if err != nil {
		v.tell(told{What: "refused", Text: err.Error()})
		return nil
	}
	v.engine, err = pawl.Open(context.Background(), store, &pawl.Options{Tools: tools, CacheDir: proof.CacheDir()})
	if err != nil {
		v.tell(told{What: "refused", Text: err.Error()})
		return store.Close()
	}
	h := store.Health()
	v.tell(told{What: "open", Text: string(h.Condition) + " " + h.Reason})
	if h.Condition != kv.Held {
		err = v.work()
	}
	if l.Documents != "" {
		err = errors.Join(err, v.documents())
	}
	return errors.Join(err, v.engine.Close(), store.Close())
}

func (v *living) tell(t told) {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	_, _ = v.out.Write(append(text, '\n'))
	_ = v.out.Flush() // who reads has ended, or this process is about to
}

// work goes on with what is open, and keeps as many runs under way as are wanted.
func (v *living) work() error {
	workflows := map[string]*pawl.Workflow{}
	for _, plan := range planNames() {
		w, err := v.engine.Workflow(plan)
		if errors.Is(err, pawl.ErrNotFound) {
			w, err = v.engine.Deploy(context.Background(), folderOf(plan))
		}
		if err != nil {
			return err
		}
		workflows[plan] = w
	}
	slots := make(chan struct{}, max(v.Want, len(v.Runs), 1))
	var all sync.WaitGroup
	one := func(id string) {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if err := v.run(workflows[planOf(id)], id); err != nil {
				v.tell(told{What: "failed", Run: id, Text: err.Error()})
			}
		})
	}
	for _, id := range v.Runs {
		one(id)
	}
	for i := 0; v.Want > 0; i++ {
		one(fmt.Sprintf("%s.%03d.%04d", planNames()[i%len(plans)], v.Number, i))
	}
	all.Wait()
	return nil
}

// run begins a run, or finds it, and waits for it.
func (v *living) run(w *pawl.Workflow, id string) error {
	r, err := v.engine.Find(id)
	if errors.Is(err, pawl.ErrNotFound) {
		v.tell(told{What: "starting", Run: id})
		if r, err = pawl.Start(context.Background(), w, id, map[string]string{"run": id}, nil); err == nil {
			v.tell(told{What: "started", Run: id})
		}
	}
	if err != nil {
		return err
	}
	c, err := r.Checkpoint()
	if err != nil {
		return err
	}
	v.tell(told{What: "seen", Run: id, Seen: seenOf(c)})
	if v.Urge && c.State == pawl.StateNeedsDecision {
		if err := r.Resume(); err != nil && !errors.Is(err, pawl.ErrAlreadyRunning) {
			return err
		}
	}
	if c, err = r.Wait(context.Background(), time.Hour); err != nil {
		return err
	}
	v.tell(told{What: "rest", Run: id, Seen: seenOf(c)})
	return nil
}

// documents checks the store and writes the documents of all runs. A run that
// cannot be read has a line with the reason.
func (v *living) documents() error {
	f, err := os.Create(v.Documents)
	if err != nil {
		return err
	}
	defer f.Close()
	out := json.NewEncoder(f)
	if err := v.engine.Check(); err != nil {
		v.tell(told{What: "unsound", Text: err.Error()})
	}
	listed := map[string]bool{}
	for after := ""; ; {
		page, err := v.engine.List(&pawl.Query{After: after, Limit: pawl.MaxPage})
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			listed[item.ExternalID] = true
			c, err := v.document(item)
			if err == nil {
				err = out.Encode(c)
			}
			if err != nil {
				return err
			}
		}
		if after = page.Next; after == "" {
			return v.unlisted(listed)
		}
	}
}

// unlisted says which runs can be found and are in no list.
func (v *living) unlisted(listed map[string]bool) error {
	text, err := os.ReadFile(v.Known)
	if err != nil {
		return err
	}
	for id := range strings.FieldsSeq(string(text)) {
		if listed[id] {
			continue
		}
		r, err := v.engine.Find(id)
		if err != nil {
			v.tell(told{What: "lost", Run: id, Text: err.Error()})
			continue
		}
		c, err := r.Checkpoint()
		v.tell(told{What: "unlisted", Run: id, Text: fmt.Sprintf("%s %+v %v", r.ID(), c, err)})
	}
	return nil
}

func (v *living) document(item pawl.Summary) (*pawl.Checkpoint, error) {
	r, err := v.engine.Find(item.Run)
	var c *pawl.Checkpoint
	if err == nil {
		c, err = r.Checkpoint()
	}
	if errors.Is(err, pawl.ErrUndecodable) {
		v.tell(told{What: "undecodable", Run: item.Run, Text: err.Error()})
		return &pawl.Checkpoint{Run: item.Run, ExternalID: item.ExternalID}, nil
	}
	return c, err
}
