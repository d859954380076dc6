package journal

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
)

// arrears is how long active time and work may go unrecorded.
const arrears = 10 * time.Second

// Run is the owner's handle of a run: the only way to write its records. Its
// methods may be used concurrently; the records are ordered by their calls.
type Run struct {
	id      string
	book    *Book
	observe Observer
	notices *notifier // nil without an observer

	mu    sync.Mutex // guards what follows, and the order of appends
	chain *kv.Chain
	state *State
	// listed is the listing as it was last written.
	listed Listing
	last   *barrier // of the last entry
	// queued are the entries that were not known to be durable, in order.
	queued []kv.Pending
	// spared makes the next re-entry free.
	spared bool
	// since is when the active time was last recorded; zero while it stands.
	since time.Time
	tick  *time.Timer
	meter *atomic.Int64 // of the open attempt; nil while no guest computes
	logs  runLog        // of the open attempt
}

func (b *Book) newRun(id string, chain *kv.Chain, state *State, observe Observer) *Run {
	r := &Run{id: id, book: b, chain: chain, state: state, observe: observe}
	if observe != nil {
		r.notices = &notifier{observe: observe}
	}
	return r
}

// Close gives the run up; it writes nothing. Records that nobody waits for
// still become durable.
func (r *Run) Close() {
	r.StopClock()
	if r.notices != nil {
		r.notices.close()
	}
}

// ID is the run's id.
func (r *Run) ID() string { return r.id }

// Read calls f with the state as the owner knows it, durable or not. f must
// not keep it.
func (r *Run) Read(f func(*State)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r.state)
}

// Head is the head of the run's chain as the owner knows it, durable or not.
func (r *Run) Head() kv.Head {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.chain.Head()
}

// Body reads a payload of the run.
func (r *Run) Body(ctx context.Context, body *kv.Body) ([]byte, error) {
	if body.Hash == nil {
		return body.Inline, nil
	}
	var data []byte
	read := func() error {
		return r.book.view(func(v kv.View) (err error) {
			data, err = kv.ReadBody(v, runPrefix(r.id), *body)
			return asUndecodable(r.id, err)
		})
	}
	err := read()
	if err == nil {
		return data, nil
	}
	// What was put a moment ago may not be durable, and so not visible, yet.
	if err := r.Flush(ctx); err != nil {
		return nil, err
	}
	return data, read()
}

// Flush waits until everything that the run has written is durable. An owner
// does so before it gives the run up: whoever reads or takes it over next sees
// only what is durable.
func (r *Run) Flush(ctx context.Context) error {
	r.mu.Lock()
	last := r.last
	r.mu.Unlock()
	if last == nil {
		return nil
	}
	return last.Wait(ctx)
}

// Emit tells the observer of something that is not a durable record.
func (r *Run) Emit(e Event) {
	if r.observe == nil {
		return
	}
	e.Run = r.id
	if e.Seq == 0 {
		r.mu.Lock()
		e.Seq = r.state.Seq
		r.mu.Unlock()
	}
	r.observe(e)
}

// append commits records as one entry and folds them into the state. durable
// is announced when the entry is durable. The caller holds mu.
func (r *Run) append(with *kv.Batch, durable []Event, records ...Record) (*barrier, error) {
	now := time.Now()
	for i := range records {
		records[i].bound()
	}
	e := &entry{Format: Format, At: micros(now), Records: records}
	if !r.since.IsZero() {
		e.Active = now.Sub(r.since).Microseconds()
		r.since = now
		r.tick.Reset(arrears)
	}
	e.Work = r.unrecorded()
	data := encode(e)
	with = r.logs.add(with, r.id, e.At)
	if err := fits(data, with); err != nil {
		return nil, err
	}
	seq := r.chain.Head().Seq + 1
	if err := r.state.apply(seq, e); err != nil {
		return nil, &UndecodableError{Run: r.id, Key: string(runPrefix(r.id)), Err: err} // a bug: never written
	}
	r.unmeter(records)
	r.logged(records)
	b := &barrier{pending: r.chain.Append(data, r.list(with))}
	if r.state.Ended() {
		r.book.opened.ends(r.id, b.pending)
	}
	if r.notices != nil {
		for i := range durable {
			durable[i].Run, durable[i].Seq = r.id, seq
		}
		b.announced = r.notices.add(b.pending, durable)
	}
	r.last = b
	r.queued = append(r.queued, b.pending)
	for len(r.queued) > 1 && settled(r.queued[0]) {
		r.queued = r.queued[1:]
	}
	return b, nil
}

// write appends records under the lock.
func (r *Run) write(with *kv.Batch, durable []Event, records ...Record) (*barrier, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.append(with, durable, records...)
}

// StartClock lets the run's active time run.
func (r *Run) StartClock() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.since.IsZero() {
		return
	}
	r.since = time.Now()
	r.tick = time.AfterFunc(arrears, r.bookTime)
}

// bookTime records active time and work in arrears while nothing else is
// recorded. What ended the attempt, or the run, stays the last record, however
// long it takes to become durable: it says since when the run rests.
func (r *Run) bookTime() {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.since.IsZero() || r.state.Phase != PhaseOpen:
	case r.last != nil && !settled(r.last.pending): // the disk stands still: one more would only wait as well
		r.tick.Reset(arrears)
	default:
		_, _ = r.append(nil, nil) // a broken store is seen by whoever waits next
	}
}

// StopClock lets the active time stand. What is not recorded yet is lost; the
// records that end an attempt come right before.
func (r *Run) StopClock() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.since.IsZero() {
		r.since = time.Time{}
		r.tick.Stop()
	}
}

// barrier is an entry on its way to the disk. With an observer, Wait also
// waits until the observer has been told.
type barrier struct {
	pending   kv.Pending
	announced <-chan struct{}
}

var _ host.Barrier = (*barrier)(nil)

func (b *barrier) Wait(ctx context.Context) error {
	if err := b.pending.Wait(ctx); err != nil {
		return err
	}
	if b.announced == nil {
		return nil
	}
	select {
	case <-b.announced:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
