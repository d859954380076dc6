package web_test

import (
	"context"
	"net/http"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/web"
)

// lists counts how many requests look through all runs at once. They go on when
// they are told to.
type lists struct {
	web.Engine
	goOn chan struct{}
	now  atomic.Int32
}

func (l *lists) List(*pawl.Query) (*pawl.Page, error) {
	defer l.now.Add(-1)
	l.now.Add(1)
	<-l.goOn
	return &pawl.Page{Items: []pawl.Summary{}}, nil
}

// However many ask for lists, half of the processors are left to the runs; who
// has gone does not wait for a turn.
//
// Seen red with every request let through at once, and with a wait that looks at
// nothing else.
func TestListsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &lists{goOn: make(chan struct{})}
		h := web.Handler(l, nil)
		get := func(ctx context.Context) int {
			return ask(h, http.MethodGet, "/api/v1/runs", func(r *http.Request) { *r = *r.WithContext(ctx) }).Code
		}
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() {
				if code := get(t.Context()); code != http.StatusOK {
					t.Errorf("status %d", code)
				}
			})
		}
		gone, leave := context.WithCancel(t.Context())
		var left atomic.Int32
		wg.Go(func() { left.Store(int32(get(gone))) })
		synctest.Wait()
		if n, want := int(l.now.Load()), max(1, goruntime.GOMAXPROCS(0)/2); n != want {
			t.Errorf("%d look at once, want %d", n, want)
		}
		leave()
		synctest.Wait()
		if code := left.Load(); code != http.StatusServiceUnavailable && code != 0 {
			t.Errorf("who has gone: %d", code)
		}
		close(l.goOn)
		wg.Wait()
	})
}
