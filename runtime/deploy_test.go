package runtime_test

import (
	"context"
	"errors"
	"testing"

	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// A deploy that is cut off anywhere has stored no workflow, and can be made
// again.
//
// Seen red with the record written before the parts.
func TestDeployIsWholeOrNotAtAll(t *testing.T) {
	long(t)
	t.Parallel()
	b := setup(t)
	content := folder(t, "", "")
	for left := range 1000 {
		cut := &cutStore{Store: b.store, left: left}
		engine, err := pawl.Open(t.Context(), cut, &b.opts)
		if err != nil {
			t.Fatal(err)
		}
		_, err = engine.Deploy(t.Context(), content)
		if closed := engine.Close(); closed != nil {
			t.Fatal(closed)
		}
		if err == nil {
			if left < 3 {
				t.Fatalf("deployed with %d batches", left)
			}
			return
		}
		if !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		if _, err := b.engine.Workflow("test"); !errors.Is(err, pawl.ErrNotFound) {
			t.Fatalf("after %d batches there is a workflow: %v", left, err)
		}
		if err := b.engine.Check(); err != nil {
			t.Fatalf("after %d batches: %v", left, err)
		}
	}
	t.Fatal("it was never deployed")
}

var errCut = errors.New("cut off")

// cutStore takes some batches and no more.
type cutStore struct {
	kv.Store
	left int
}

func (s *cutStore) Commit(b *kv.Batch) kv.Pending {
	if s.left == 0 {
		return failedPending{}
	}
	s.left--
	return s.Store.Commit(b)
}

type failedPending struct{}

func (failedPending) Wait(context.Context) error { return errCut }
func (failedPending) Err() error                 { return errCut }
func (failedPending) Number() uint64             { return 0 }

func (failedPending) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}
