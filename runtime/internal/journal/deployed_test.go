package journal_test

import (
	"context"
	"errors"
	"testing"

	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/kv/kvtest"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
)

// cramped is a store that finds its disk full at the first batch, and not any
// more at the second.
type cramped struct {
	kv.Store
	disk  *kvtest.Disk
	first kv.Pending
}

func (s *cramped) Commit(b *kv.Batch) kv.Pending {
	switch {
	case s.disk == nil:
		return s.Store.Commit(b)
	case s.first == nil:
		s.disk.Fill(true)
		s.first = s.Store.Commit(b)
		return s.first
	}
	_ = s.first.Wait(context.Background())
	s.disk.Fill(false)
	return s.Store.Commit(b)
}

// A workflow is stored whole or not at all, also on a disk that is full for a
// moment: a part that is missing would never be looked for again.
//
// Seen red with the last batch not waiting for the parts.
func TestWorkflowIsStoredWhole(t *testing.T) {
	t.Parallel()
	disk := kvtest.NewDisk(nil)
	under, err := disk.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer under.Close()
	store := &cramped{Store: under}
	book, err := journal.OpenBook(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	deploy := func() error {
		_, err := book.Deploy(t.Context(), "sha256:00", "test", "1", map[string][]byte{"workflow.toml": []byte("x")}, nil)
		return err
	}
	store.disk = disk
	if err := deploy(); !errors.Is(err, kv.ErrNoSpace) || !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("without space: %v", err)
	}
	disk.Fill(false)
	if err := deploy(); err != nil {
		t.Fatal(err)
	}
	d, err := book.Deployed("sha256:00")
	if err != nil {
		t.Fatal(err)
	}
	if files, err := book.Files("sha256:00", d); err != nil || string(files["workflow.toml"]) != "x" {
		t.Errorf("%v: %q", err, files)
	}
}
