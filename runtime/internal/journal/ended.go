package journal

import (
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// EndedRun is a run in the list of those that have ended. It is valid only
// inside the call that gave it.
type EndedRun struct {
	Run string
	// Position orders ended runs: the later ended, the greater.
	Position string
	value    []byte
	view     kv.View
}

// EndedPosition is the position of a run that ended at a time.
func EndedPosition(at time.Time, run string) string {
	return string(endedKey(at, run)[len(prefixEnded):])
}

// RunAt is the run of a position; false if it is none.
func RunAt(position string) (run string, ok bool) {
	const when = 8
	if len(position) <= when {
		return "", false
	}
	return position[when:], true
}

// Listing is the run's listing, and whether the run had to be read for it: the
// list of a program that wrote less has none.
func (e *EndedRun) Listing() (l Listing, read bool, err error) {
	if l, whole := decodeListing(e.value); whole {
		return l, false, nil
	}
	s, err := load(e.view, e.Run)
	if err != nil {
		return Listing{}, true, err
	}
	return s.Listing(), true, nil
}

// EachEnded calls f with the runs that have ended, the last ended first, those
// before a position alone unless it is empty, until f returns false.
func (b *Book) EachEnded(before string, f func(e *EndedRun) bool) error {
	r := kv.Range{Prefix: prefixEnded, Reverse: true}
	if before != "" {
		r.From = join(prefixEnded, before)
	}
	return b.view(func(v kv.View) error {
		for item, err := range v.Scan(r) {
			if err != nil {
				return err
			}
			position := string(item.Key[len(prefixEnded):])
			run, ok := RunAt(position)
			if !ok || position == before {
				continue
			}
			if !f(&EndedRun{Run: run, Position: position, value: item.Value, view: v}) {
				return nil
			}
		}
		return nil
	})
}

// CountEnded is how many runs have ended. Where this process alone uses the
// store they are counted once, and from then on by the records that end runs.
func (b *Book) CountEnded() (n int, err error) {
	if !b.store.Exclusive() {
		return b.countEnded(func(string) bool { return true })
	}
	b.counting.Lock()
	defer b.counting.Unlock()
	o := &b.opened
	o.mu.Lock()
	if o.counted {
		defer o.mu.Unlock()
		return o.ended, nil
	}
	o.during = map[string]bool{}
	o.mu.Unlock()
	n, err = b.countEnded(func(run string) bool { // those that end meanwhile are counted apart
		o.mu.Lock()
		defer o.mu.Unlock()
		_, open := o.runs[run]
		return !open && !o.during[run]
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	n += len(o.during)
	if err == nil && o.during != nil {
		o.ended, o.counted = n, true
	}
	o.during = nil
	return n, err
}

func (b *Book) countEnded(counts func(run string) bool) (n int, err error) {
	err = b.view(func(v kv.View) error {
		n = 0
		for item, err := range v.Scan(kv.Range{Prefix: prefixEnded, KeysOnly: true}) {
			if err != nil {
				return err
			}
			if run, ok := RunAt(string(item.Key[len(prefixEnded):])); ok && counts(run) {
				n++
			}
		}
		return nil
	})
	return n, err
}
