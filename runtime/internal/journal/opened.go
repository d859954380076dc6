package journal

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/pawl-dev/pawl/kv"
)

// opened holds the listings of the open runs in memory. It is safe for
// concurrent use. Runs that somebody else changes meanwhile are not seen until
// it is read anew.
type opened struct {
	mu   sync.Mutex          // guards what follows
	runs map[string]*Listing // a listing itself never changes
	// unreadable are runs that could not be read; nil if there were none.
	unreadable map[string]bool
	// ending are the ends of runs that are not known to be durable yet.
	ending map[string]kv.Pending
	// lacking are runs whose listing does not say everything: they are read when
	// somebody asks.
	lacking []string
	// ended counts the runs that have ended, once counted says so.
	ended   int
	counted bool
	// during are the runs that ended while they are being counted; nil otherwise.
	during map[string]bool
}

func (o *opened) set(run string, l Listing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.runs == nil {
		o.runs = map[string]*Listing{}
	}
	o.runs[strings.Clone(run)] = &l
	delete(o.unreadable, run)
}

// found takes note of what somebody else has written of a run: whoever takes it
// over has read it.
func (o *opened) found(run string, s *State) {
	if !s.Ended() {
		o.set(run, s.Listing())
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, open := o.runs[run]; open {
		delete(o.runs, run)
		o.counted, o.during = false, nil // it may have been counted
	}
}

// remove forgets a run that was never begun.
func (o *opened) remove(run string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.runs, run)
}

// ends takes note that the end of a run is on its way to the disk. The run is
// open until then.
func (o *opened) ends(run string, durable kv.Pending) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ending == nil {
		o.ending = map[string]kv.Pending{}
	}
	o.ending[run] = durable
}

// end moves a run whose end is durable to those that have ended. One whose end
// did not land stays where it is.
func (o *opened) end(run string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.endLocked(run)
}

func (o *opened) endLocked(run string) {
	durable, ending := o.ending[run]
	delete(o.ending, run)
	if !ending || !settled(durable) {
		return
	}
	delete(o.runs, run)
	switch {
	case o.during != nil:
		o.during[run] = true
	case o.counted:
		o.ended++
	}
}

// ReadOpen reads the listings of all open runs from the store and returns
// their ids, oldest first. A listing that cannot be understood says nothing of
// its run but that it is open: whoever enters the run finds out.
func (b *Book) ReadOpen() ([]string, error) {
	b.opened.mu.Lock()
	b.opened.unreadable = nil // who reads the store for the first time, or after it was mended, finds out
	b.opened.mu.Unlock()
	return b.readOpen()
}

func (b *Book) readOpen() ([]string, error) {
	runs := map[string]*Listing{}
	var lacking []string
	err := b.view(func(v kv.View) error {
		clear(runs)
		lacking = nil
		for item, err := range v.Scan(kv.Range{Prefix: prefixOpen}) {
			if err != nil {
				return err
			}
			run := string(item.Key[len(prefixOpen):])
			l, whole := decodeListing(item.Value)
			if runs[run] = &l; !whole {
				lacking = append(lacking, run)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	ids := slices.Sorted(maps.Keys(runs))
	o := &b.opened
	o.mu.Lock()
	defer o.mu.Unlock()
	o.runs, o.lacking = runs, lacking
	for run := range o.unreadable {
		if !o.mark(run) {
			delete(o.unreadable, run) // somebody else has ended it
		}
	}
	o.counted, o.during = false, nil // what was not acknowledged may have landed
	return ids, nil
}

// Listing is what is known of an open run; false if none with that id is.
func (b *Book) Listing(run string) (Listing, bool) {
	b.opened.mu.Lock()
	defer b.opened.mu.Unlock()
	if l := b.opened.runs[run]; l != nil {
		return *l, true
	}
	return Listing{}, false
}

// EachOpen calls f with the listing of every open run, in no order: from memory
// where this process alone uses the store. Runs that change meanwhile are given
// as they were or as they are. f must be quick, since whoever writes a record
// may wait for it, and must not change the listing or call the book.
func (b *Book) EachOpen(f func(run string, l *Listing)) error {
	if !b.store.Exclusive() {
		if _, err := b.readOpen(); err != nil {
			return err
		}
	}
	if err := b.complete(); err != nil {
		return err
	}
	const breath = 1024 // writers do not wait for a hundred thousand
	o := &b.opened
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for run, l := range o.runs {
		// Whoever is told of the end may ask for a list before its owner has let go.
		if durable, ending := o.ending[run]; ending && settled(durable) {
			o.endLocked(run)
			continue
		}
		f(run, l)
		if n++; n%breath == 0 {
			o.mu.Unlock()
			o.mu.Lock()
		}
	}
	return nil
}

// complete reads the runs whose listings do not say everything.
func (b *Book) complete() error {
	o := &b.opened
	for {
		o.mu.Lock()
		n := len(o.lacking)
		if n == 0 {
			o.mu.Unlock()
			return nil
		}
		run := o.lacking[n-1]
		o.mu.Unlock()
		l := Listing{Phase: PhaseUnreadable}
		err := b.View(run, func(s *Snapshot) error {
			l = s.Listing()
			return nil
		})
		if err != nil && !errors.Is(err, ErrUndecodable) && !errors.Is(err, ErrNotFound) {
			return err
		}
		o.mu.Lock()
		if known, open := o.runs[run]; open && known.Pins == 0 {
			o.runs[run] = &l
		}
		if n := len(o.lacking); n > 0 && o.lacking[n-1] == run {
			o.lacking = o.lacking[:n-1]
		}
		o.mu.Unlock()
	}
}

// Unreadable notes that an open run cannot be read, so that lists know.
func (b *Book) Unreadable(run string) {
	o := &b.opened
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.mark(run) {
		return
	}
	if o.unreadable == nil {
		o.unreadable = map[string]bool{}
	}
	o.unreadable[run] = true
}

// mark makes the listing of an open run say that the run cannot be read. The
// caller holds mu.
func (o *opened) mark(run string) bool {
	known, open := o.runs[run]
	if open {
		l := *known
		l.Phase, l.Code, l.Due, l.Since = PhaseUnreadable, "", 0, 0
		o.runs[run] = &l
	}
	return open
}
