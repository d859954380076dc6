package journal

import (
	"errors"
	"fmt"

	"github.com/pawl-dev/pawl/kv"
)

// Snapshot is a run as it stands durably, with access to its bodies. It is
// valid only inside the view it was read in.
type Snapshot struct {
	*State
	view   kv.View
	prefix []byte
	head   kv.Head
}

// Head is the head of the run's chain.
func (s *Snapshot) Head() kv.Head { return s.head }

// Body reads a payload of the run.
func (s *Snapshot) Body(body *kv.Body) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	data, err := kv.ReadBody(s.view, s.prefix, *body)
	return data, asUndecodable(s.Start.Run, err)
}

// View reads a run and calls f with it.
func (b *Book) View(run string, f func(*Snapshot) error) error {
	return b.view(func(v kv.View) error {
		s, err := load(v, run)
		if err != nil {
			return err
		}
		return f(s)
	})
}

// Open takes a run over: the caller is its one owner until [Run.Close]. Its
// first record raises the head's epoch, so that none of an earlier owner can
// land after it.
func (b *Book) Open(run string, observe Observer) (*Run, error) {
	var r *Run
	err := b.View(run, func(s *Snapshot) error {
		r = b.newRun(run, kv.TakeChain(b.store, s.prefix, s.head), s.State, observe)
		r.listed = s.Listing()
		b.opened.found(run, s.State)
		return nil
	})
	return r, err
}

func load(v kv.View, run string) (*Snapshot, error) {
	s := &Snapshot{State: new(State), view: v, prefix: runPrefix(run)}
	entries, head, err := kv.ReadChain(v, s.prefix)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, missing(v, run)
	}
	if err != nil {
		return nil, asUndecodable(run, err)
	}
	s.head = head
	for _, item := range entries {
		e, err := decodeEntry(item.Value)
		if err == nil {
			err = s.apply(item.Seq, e)
		}
		if err != nil {
			return nil, &UndecodableError{Run: run, Key: fmt.Sprintf("%s%d", s.prefix, item.Seq), Err: err}
		}
	}
	if s.Start == nil || s.Start.Run != run {
		return nil, &UndecodableError{Run: run, Key: string(s.prefix), Err: errors.New("no start record of this run")}
	}
	return s, nil
}

// missing says what a run without a head is: one that does not exist, or one
// whose head is lost. A bad block of the store reads as absence, and absence
// alone is no evidence.
func missing(v kv.View, run string) error {
	_, err := v.Get(join(prefixOpen, run))
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return fmt.Errorf("%w: run %q", ErrNotFound, run)
	case err != nil:
		return asUndecodable(run, err)
	}
	return &UndecodableError{Run: run, Key: string(runPrefix(run)) + "h", Err: errors.New("the head of an open run is missing")}
}

// asUndecodable names the run that a corrupt key belongs to.
func asUndecodable(run string, err error) error {
	var corrupt *kv.CorruptError
	if errors.As(err, &corrupt) {
		return &UndecodableError{Run: run, Key: string(corrupt.Key), Err: err}
	}
	return err
}
