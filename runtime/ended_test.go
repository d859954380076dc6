package runtime_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// Whoever is told that a run has ended, and looks before the engine goes on,
// finds it once, among those that have ended.
//
// Seen red with runs that are open until the observer has returned: there twice.
func TestListsInAnObserver(t *testing.T) {
	t.Parallel()
	_, _, tools := keyedAndRead()
	b := setup(t, tools...)
	b.deploy(folder(t, "", `tools = ["keyed"]`))
	var mu sync.Mutex
	var page *pawl.Page
	var open int
	engine := make(chan *pawl.Engine, 1)
	b.opts.Observer = func(e pawl.Event) {
		if e.Kind != pawl.Completed {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		now := <-engine
		var err error
		if page, err = now.List(nil); err != nil {
			t.Error(err)
		}
		open = now.Health().Open
	}
	b.reopen()
	engine <- b.engine
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	completed(t, b.rest(b.start(w, "r1", `{"one":[{"call":"keyed"}]}`)))
	mu.Lock()
	defer mu.Unlock()
	if len(page.Items) != 1 || page.Items[0].State != pawl.StateCompleted || open != 0 {
		t.Errorf("%d open, %+v", open, page.Items)
	}
	if diff := cmp.Diff([]pawl.Count{{State: pawl.StateCompleted, Runs: 1}}, page.Counts); diff != "" {
		t.Error(diff)
	}
}
