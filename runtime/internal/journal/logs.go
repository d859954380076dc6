package journal

import (
	"log/slog"
	"math"

	"github.com/pawl-dev/pawl/kv"
)

// What guests log is kept beside the chain of their run, in pages: each is
// written by the batch of an entry, and so lands with it or not at all. The
// state is not folded from them.

// logPage is what is kept of a log under one key.
type logPage struct {
	Format int       `cbor:"1,keyasint"`
	At     int64     `cbor:"2,keyasint"` // of the entry in whose batch it is, microseconds
	Step   string    `cbor:"3,keyasint"` // its name
	Lines  []logText `cbor:"4,keyasint,omitempty"`
	Left   *leftOut  `cbor:"5,keyasint,omitempty"` // instead of Lines, under the key of lastPage
}

type logText struct {
	_     struct{} `cbor:",toarray"`
	Calls int      // that the attempt had made
	Level int
	Text  string
}

// leftOut counts what an attempt logged beyond its limit.
type leftOut struct {
	_     struct{} `cbor:",toarray"`
	Calls int      // that the attempt had made, at the last of it
	Lines int64
	Bytes int64
}

// logScope is whose lines are numbered together: those of an attempt, as far as
// one version of its code logged them. That code logs the same lines again when
// it is entered again; another version need not.
type logScope struct {
	step, attempt, version int
}

// lastPage is the end in the key of what was left out: behind all pages.
const lastPage = math.MaxUint32

const (
	// maxLogPage is how much may be pending, in bytes. With one more line it
	// fits beside the largest value that a step keeps.
	maxLogPage = 32 << 10
	// logTextCost is more than a line takes besides its text.
	logTextCost = 16
)

// runLog is the log of the open attempt, as far as it is not recorded.
type runLog struct {
	scope logScope
	step  string // its name
	kept  int    // lines that are recorded or pending
	made  int    // lines of this entry of the guest

	pending []logText
	size    int // bytes of them

	left    leftOut // as it is recorded or will be
	beyond  leftOut // of this entry of the guest
	changed bool    // left is to be recorded
}

// EnterLog begins the log of the open attempt anew: its guest is entered. What
// the store has of the attempt is asked only if another owner may have written
// it.
func (r *Run) EnterLog() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.state.openLog(); r.logs.scope != now.scope {
		if err := r.readLog(&now); err != nil {
			return err
		}
		r.logs = now
	}
	r.logs.made, r.logs.beyond = 0, leftOut{}
	return nil
}

// openLog is the empty log of the open attempt.
func (s *State) openLog() runLog {
	st := s.Steps[s.Current]
	return runLog{scope: logScope{s.Current, st.Attempts, len(s.Upgrades)}, step: st.Name}
}

// Log takes a line that the guest of the open attempt logged after so many
// calls; it is recorded with the next entry. It reports whether the line is
// new: one that the store has was logged by an entry of the guest before.
func (r *Run) Log(calls int, level slog.Level, text string) (fresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &r.logs
	if l.made++; l.made <= l.kept {
		return false
	}
	l.kept = l.made
	l.pending = append(l.pending, logText{Calls: calls, Level: int(level), Text: text})
	if l.size += len(text) + logTextCost; l.size >= maxLogPage {
		_, _ = r.append(nil, nil) // a broken store is seen by whoever waits next
	}
	return true
}

// LeaveOut counts lines beyond the limit of the log. It reports whether they
// are the first of the attempt.
func (r *Run) LeaveOut(calls, lines, bytes int) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &r.logs
	l.beyond.Calls = calls
	l.beyond.Lines += int64(lines)
	l.beyond.Bytes += int64(bytes)
	if l.beyond.Bytes <= l.left.Bytes {
		return false
	}
	first = l.left.Lines == 0
	l.left, l.changed = l.beyond, true
	return first
}

// add puts what is pending into the batch of an entry. The caller holds the
// run's mu.
func (l *runLog) add(with *kv.Batch, run string, at int64) *kv.Batch {
	if len(l.pending) == 0 && !l.changed {
		return with
	}
	if with == nil {
		with = new(kv.Batch)
	}
	page := logPage{Format: Format, At: at, Step: l.step}
	if l.changed {
		page.Left = &l.left
		with.Set(logKey(run, l.scope, lastPage), encode(page))
		page.Left = nil
	}
	if len(l.pending) > 0 {
		page.Lines = l.pending
		with.Set(logKey(run, l.scope, uint32(l.kept)), encode(page))
	}
	return with
}

// logged takes note that records have taken the pending lines with them. An
// attempt that they begin has logged nothing. The caller holds mu.
func (r *Run) logged(records []Record) {
	r.logs.pending, r.logs.size, r.logs.changed = nil, 0, false
	for i := range records {
		if records[i].Begin != nil {
			r.logs = r.state.openLog()
		}
	}
}
