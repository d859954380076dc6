package disks_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/proof"
)

// life is what one process of the engine does: it begins runs, or finds them,
// waits for them, and answers what it is asked on its standard input.
type life struct {
	Store, Tools string
	Reserve      int64
	Runs         []string
}

// told is a line of a life's standard output.
type told struct {
	What   string // opened, rest, failed, or the question: health, read, begin
	Health pawl.Health
	Read   int    // runs that could be read
	Text   string // why something failed
}

func (l *life) live() error {
	tools, err := loadTools(l.Tools)
	if err != nil {
		return err
	}
	store, err := kv.Open(l.Store, &kv.Options{Reserve: l.Reserve})
	if err != nil {
		return err
	}
	engine, err := pawl.Open(context.Background(), store, &pawl.Options{Tools: tools, CacheDir: proof.CacheDir()})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	w, err := engine.Workflow("work")
	if errors.Is(err, pawl.ErrNotFound) {
		w, err = engine.Deploy(context.Background(), folder())
	}
	if err != nil {
		return err
	}
	var out sync.Mutex // one line at a time
	tell := func(t told) {
		out.Lock()
		defer out.Unlock()
		_ = json.NewEncoder(os.Stdout).Encode(t) // the test may have failed
	}
	tell(told{What: "opened"})
	var all sync.WaitGroup
	for _, id := range l.Runs {
		all.Go(func() {
			if err := work(engine, w, id); err != nil {
				tell(told{What: "failed", Text: id + ": " + err.Error()})
			}
		})
	}
	go func() {
		all.Wait()
		tell(told{What: "rest"})
	}()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		tell(l.answer(engine, w, in.Text()))
	}
	return errors.Join(engine.Close(), store.Close())
}

// work begins a run, or finds it, and waits for it. While the disk is full it
// tries again.
func work(engine *pawl.Engine, w *pawl.Workflow, id string) error {
	r, err := engine.Find(id)
	for err != nil {
		r, err = pawl.Start(context.Background(), w, id, struct{}{}, nil)
		if err != nil && !errors.Is(err, pawl.ErrUnavailable) {
			return err
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond)
		}
	}
	c, err := r.Wait(context.Background(), time.Hour)
	if err == nil && c.State != pawl.StateCompleted {
		err = fmt.Errorf("state %s: %+v, %+v", c.State, c.Reasons, c.LastError)
	}
	return err
}

func (l *life) answer(engine *pawl.Engine, w *pawl.Workflow, question string) told {
	t := told{What: question}
	switch question {
	case "health":
		t.Health = engine.Health()
	case "read":
		for _, id := range l.Runs {
			r, err := engine.Find(id)
			if err == nil {
				_, err = r.Checkpoint()
			}
			if err == nil {
				t.Read++
			} else if !errors.Is(err, pawl.ErrNotFound) {
				t.Text += err.Error()
			}
		}
	case "begin":
		if _, err := pawl.Start(context.Background(), w, "late", struct{}{}, nil); err != nil {
			t.Text = err.Error()
		}
	}
	return t
}
