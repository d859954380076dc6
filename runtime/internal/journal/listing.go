package journal

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/pawl-dev/pawl/kv"
)

// Listing is what lists need of a run that is not ended. It is folded from the
// run's records and kept under the run's open key, by the batch of the record
// that changes it, so that a list reads no run.
type Listing struct {
	Format     int    `cbor:"1,keyasint"`
	ExternalID string `cbor:"2,keyasint"`
	Workflow   string `cbor:"3,keyasint"` // name
	Title      string `cbor:"4,keyasint,omitempty"`
	Started    int64  `cbor:"5,keyasint"` // microseconds
	Phase      Phase  `cbor:"6,keyasint"`
	// Code is that of the park, in PhaseDecision, or of the wait, in PhaseWaiting
	// if a call waits.
	Code string `cbor:"7,keyasint,omitempty"`
	// Due is when the next attempt is due, in PhaseWaiting; microseconds.
	Due int64 `cbor:"8,keyasint,omitempty"`
}

// maxListedTitle bounds the title in a listing, in bytes: a million open runs
// are to fit into memory.
const maxListedTitle = 256

// maxListing is more than a listing takes in a batch, in bytes.
const maxListing = 1 << 10

// listing is what lists need of the state.
func (s *State) listing() Listing {
	l := Listing{
		Format: Format, ExternalID: s.Start.ExternalID, Workflow: s.Start.Workflow,
		Title: cut(s.Start.Title, maxListedTitle), Started: micros(s.Started), Phase: s.Phase,
	}
	switch {
	case s.Phase == PhaseDecision && s.Park != nil:
		l.Code = s.Park.Code
	case s.Phase == PhaseWaiting:
		l.Due = micros(s.Steps[s.Current].Next)
		if s.Wait != nil {
			l.Code = s.Wait.Code
		}
	}
	return l
}

// list adds the run's new listing to the batch of the record that changes it.
// The caller holds mu.
func (r *Run) list(with *kv.Batch) *kv.Batch {
	if r.state.Ended() {
		r.book.opened.remove(r.id)
		return with
	}
	l := r.state.listing()
	if l == r.listed {
		return with
	}
	r.listed = l
	r.book.opened.set(r.id, l)
	if with == nil {
		with = new(kv.Batch)
	}
	with.Set(join(prefixOpen, r.id), encode(l))
	return with
}

// opened holds the listings of the open runs in memory. It is safe for
// concurrent use. Runs that somebody else changes meanwhile are not seen until
// it is read anew.
type opened struct {
	mu   sync.Mutex
	runs map[string]Listing
}

func (o *opened) set(run string, l Listing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.runs == nil {
		o.runs = map[string]Listing{}
	}
	o.runs[strings.Clone(run)] = l
}

func (o *opened) remove(run string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.runs, run)
}

func (o *opened) copy() map[string]Listing {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.runs)
}

// ReadOpen reads the listings of all open runs from the store and returns
// their ids, oldest first. A listing that cannot be understood says nothing of
// its run but that it is open: whoever enters the run finds out.
func (b *Book) ReadOpen() ([]string, error) {
	runs := map[string]Listing{}
	err := b.view(func(v kv.View) error {
		clear(runs)
		for item, err := range v.Scan(kv.Range{Prefix: prefixOpen}) {
			if err != nil {
				return err
			}
			var l Listing
			if decode(item.Value, &l) != nil || l.Format != Format {
				l = Listing{Phase: PhaseOpen}
			}
			runs[string(item.Key[len(prefixOpen):])] = l
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	b.opened.mu.Lock()
	b.opened.runs = runs
	ids := slices.Sorted(maps.Keys(runs))
	b.opened.mu.Unlock()
	return ids, nil
}

// Listing is what is known of an open run; false if none with that id is.
func (b *Book) Listing(run string) (Listing, bool) {
	b.opened.mu.Lock()
	defer b.opened.mu.Unlock()
	l, ok := b.opened.runs[run]
	return l, ok
}

// Listings are the listings of the open runs by id: from memory where this
// process alone uses the store.
func (b *Book) Listings() (map[string]Listing, error) {
	if !b.store.Exclusive() {
		if _, err := b.ReadOpen(); err != nil {
			return nil, err
		}
	}
	return b.opened.copy(), nil
}

// checkListing compares a listing with its run.
func (c *checker) checkListing(run string, value []byte, s *State) {
	var l Listing
	if err := decode(value, &l); err != nil {
		c.note("run %s: undecodable record at %q: %w", run, join(prefixOpen, run), err)
		return
	}
	if want := s.listing(); l != want {
		c.note("run %s is listed as %s %s and is %s %s", run, l.Phase, l.Code, want.Phase, want.Code)
	}
}
