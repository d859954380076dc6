package guests_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	wt "github.com/pawl-dev/pawl/runtime/internal/wasmtest"
)

// mostDeploys is how many modules, each a good part of a second of compiling,
// may be deployed until the runs beside them have completed.
const mostDeploys = 40

// While two deploy one expensive module after the other, runs complete, each
// effect exactly once.
func TestHostileDeploysDoNotStallRuns(t *testing.T) {
	t.Parallel()
	var effects sync.Map
	var twice atomic.Int64
	tool := host.Func("tool", func(_ context.Context, c *host.Call, _ any) (any, error) {
		if _, there := effects.LoadOrStore(c.Key.String(), true); there {
			twice.Add(1)
		}
		return nil, nil
	}, &host.FuncOptions{Contract: host.Contract{Effect: host.Keyed}})
	e := openWith(t, tool)
	w, err := e.Deploy(t.Context(), folder("ordinary", "", guest(strings.Repeat(wt.GoodCall, ordinaryCalls)+wt.Done)))
	if err != nil {
		t.Fatal(err)
	}

	var begun, ended atomic.Int64
	var done atomic.Bool
	var all sync.WaitGroup
	started := make(chan struct{}, 2)
	for who := range 2 {
		all.Go(func() {
			for i := 0; !done.Load(); i++ {
				begun.Add(1)
				if i == 0 {
					started <- struct{}{}
				}
				// A number makes the modules differ, so that no cache knows them.
				code := strings.Repeat(worstCode["ifs"], 5000) + wt.Const(uint32(2*i+who)) + wt.OpDrop
				if _, err := e.Deploy(t.Context(), folder(fmt.Sprint("bad-", who), "", functions(1, code))); err != nil {
					t.Error(err)
					return
				}
				ended.Add(1)
			}
		})
	}
	<-started
	<-started
	for i := range ordinary {
		r, err := pawl.Start(t.Context(), w, fmt.Sprint("ordinary-", i), map[string]int{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.Wait(t.Context(), time.Hour)
		if err != nil || c.State != pawl.StateCompleted {
			t.Errorf("%+v, %v", c, err)
		}
	}
	n := ended.Load()
	done.Store(true)
	all.Wait()
	if begun.Load() < 2 || n > mostDeploys {
		t.Errorf("%d modules were deployed beside %d runs, %d begun", n, ordinary, begun.Load())
	}
	if keys := lengthOf(&effects); keys != ordinary*ordinaryCalls || twice.Load() != 0 {
		t.Errorf("%d keys, %d effects twice", keys, twice.Load())
	}
}

func lengthOf(m *sync.Map) (n int) {
	m.Range(func(any, any) bool { n++; return true })
	return n
}

// openWith is an engine on a store of its own, with nothing compiled before.
func openWith(t *testing.T, tools ...host.Tool) *pawl.Engine {
	t.Helper()
	store, err := kv.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := host.NewRegistry(tools...)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := pawl.Open(t.Context(), store, &pawl.Options{Tools: registry, CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(engine.Check(), engine.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return engine
}
