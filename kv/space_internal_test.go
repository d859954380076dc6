package kv

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// disk is the free space that a store is told of.
type disk struct {
	free  atomic.Int64
	looks atomic.Int64
}

func (d *disk) look(string) (int64, bool) {
	d.looks.Add(1)
	return d.free.Load(), true
}

func openOn(t *testing.T, d *disk, opts Options) *badgerStore {
	t.Helper()
	opts.free = d.look
	s, err := Open(t.TempDir(), &opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.(*badgerStore)
}

// Seen red without the look before a commit.
func TestNothingIsWrittenBelowTheReserve(t *testing.T) {
	t.Parallel()
	d := &disk{}
	d.free.Store(1 << 30)
	s := openOn(t, d, Options{Linger: time.Hour})
	chain := NewChain(s, []byte("run/1/"))
	if err := chain.Append([]byte("one"), nil).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	durable := chain.Head()
	d.free.Store(defaultReserve - 1)
	s.space.wrote(lookBytes)
	refused := []Pending{s.Commit(set("k", "v")), chain.Append([]byte("two"), nil)}
	empty := &Batch{}
	empty.Require([]byte("absent"), []byte("v"))
	unmet := s.Commit(empty)
	barrier := s.Commit(&Batch{})
	if err := barrier.Wait(t.Context()); err != nil {
		t.Errorf("a batch that writes nothing: %v", err)
	}
	if err := unmet.Err(); !errors.Is(err, ErrRequirement) {
		t.Errorf("got %v", err)
	}
	for _, p := range refused {
		if err := p.Err(); !errors.Is(err, ErrNoSpace) || !strings.Contains(err.Error(), "64 MiB") {
			t.Errorf("got %v", err)
		}
	}
	if h := s.Health(); h.Condition != Full || h.Reason == "" || h.Free != defaultReserve-1 || h.Reserve != defaultReserve || h.Commits != 1 || h.Syncs != 1 {
		t.Errorf("got %+v", h)
	}
	d.free.Store(1 << 30)
	if err := chain.Append([]byte("three"), nil).Wait(t.Context()); !errors.Is(err, ErrRequirement) {
		t.Errorf("an entry behind one that had no space: %v", err)
	}
	if err := s.Commit(set("l", "v")).Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := value(t, s, "k"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	err := s.View(func(v View) error {
		_, head, err := ReadChain(v, []byte("run/1/"))
		if head != durable {
			t.Errorf("got %v, want %v", head, durable)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if h := s.Health(); h.Condition != Healthy || h.Size < 1 || h.Commits != 2 {
		t.Errorf("got %+v", h)
	}
}

// Small commits share looks; what is written between two is bounded all the
// same.
//
// Seen red with a look per commit, and with looks that time alone brings.
func TestLooksAreBoundedByWhatIsWritten(t *testing.T) {
	t.Parallel()
	d := &disk{}
	d.free.Store(1 << 30)
	s := newSpace("", (&Options{free: d.look}).withDefaults())
	s.merging(func() int64 { return 7 << 20 })
	for range 10_000 {
		if err := s.full(); err != nil {
			t.Fatal(err)
		}
		s.wrote(300)
		s.at = time.Now() // no time passes
	}
	if looks := d.looks.Load(); looks < 3 || looks > 4 {
		t.Errorf("%d looks for 3 MB", looks)
	}
	d.free.Store(defaultReserve + 7<<20 - 1)
	s.wrote(lookBytes)
	if err := s.full(); !errors.Is(err, ErrNoSpace) {
		t.Errorf("what merging takes is not counted: %v", err)
	}
	before := d.looks.Load()
	d.free.Add(1)
	if err := s.full(); err != nil || d.looks.Load() != before+1 {
		t.Errorf("enough again, but %v", err)
	}
}

func TestNegativeReserveIsNone(t *testing.T) {
	t.Parallel()
	d := &disk{}
	s := openOn(t, d, Options{Reserve: -1})
	if err := s.Commit(set("k", "v")).Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if h := s.Health(); h.Condition != Healthy || h.Reserve != 0 {
		t.Errorf("got %+v", h)
	}
}

// Opening makes tables of logs, for which there has to be space too.
//
// Seen red without the look before Badger opens.
func TestOpeningNeedsSomeSpace(t *testing.T) {
	t.Parallel()
	d := &disk{}
	d.free.Store(openRoom - 1)
	dir := t.TempDir()
	if _, err := Open(dir, &Options{free: d.look}); !errors.Is(err, ErrNoSpace) {
		t.Fatalf("got %v", err)
	}
	d.free.Store(openRoom)
	s, err := Open(dir, &Options{free: d.look})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if h := s.Health(); h.Condition != Full {
		t.Errorf("got %+v", h)
	}
	if _, err := value(t, s, "k"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a full store is not read: %v", err)
	}
}
