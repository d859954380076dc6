package runtime

import (
	"strings"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/runtime/internal/journal"
)

// How long a tool whose credentials were refused is left alone: it doubles from
// refusal to refusal.
const (
	leastPause   = time.Minute
	longestPause = 15 * time.Minute
)

// pauses are the tools whose credentials a receiver has refused. Calls of such
// a tool wait without being sent, until one run that tried first got through.
// The waits of the runs carry it over restarts. It is safe for concurrent use.
type pauses struct {
	mu    sync.Mutex // guards tools
	tools map[string]*toolPause
}

type toolPause struct {
	journal.Pause
	due    time.Time // when one run may try
	trying string    // the run that does
}

// admit reports whether the run may send a call of the tool now: it is not
// paused, or the run is the one that tries. Otherwise it says when to come back,
// and how the pause stands.
func (p *pauses) admit(tool, run string, asked bool, now time.Time) (due time.Time, how journal.Pause, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tools[tool]
	if t == nil {
		return time.Time{}, journal.Pause{}, true
	}
	if due, ok = t.admit(run, asked, now); ok {
		t.trying = run
	}
	return due, t.Pause, ok
}

func (t *toolPause) admit(run string, asked bool, now time.Time) (due time.Time, ok bool) {
	switch {
	case asked, t.trying == run:
		return time.Time{}, true
	case now.Before(t.due):
		return t.due, false
	case t.trying != "":
		return now.Add(leastPause), false // whoever tries wakes the others
	}
	return time.Time{}, true
}

// refused pauses the tool, or prolongs its pause, until due at least. A try
// that somebody asked for does not prolong the waits.
func (p *pauses) refused(tool, run, why string, asked bool, now, due time.Time) (time.Time, journal.Pause) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tools[tool]
	if t == nil {
		if p.tools == nil {
			p.tools = map[string]*toolPause{}
		}
		t = &toolPause{Pause: journal.Pause{Since: now.UnixMicro()}}
		p.tools[tool] = t
	}
	// Calls that were in flight together are one refusal.
	if t.Times == 0 || !asked && t.trying == run {
		t.Times++
	}
	if t.trying == run {
		t.trying = ""
	}
	t.Why = why
	if at := now.Add(pauseAfter(t.Times)); at.After(due) {
		due = at
	}
	t.due = due
	return due, t.Pause
}

func pauseAfter(times int) time.Duration {
	wait := leastPause
	for ; times > 1 && wait < longestPause; times-- {
		wait *= 2
	}
	return min(wait, longestPause)
}

// lift ends the tool's pause and reports whether there was one.
func (p *pauses) lift(tool string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, was := p.tools[tool]
	delete(p.tools, tool)
	return was
}

// askedPrefix begins the codes of answers of a receiver.
const askedPrefix = "http_"

// unasked reports whether the tool is paused without its receiver having been
// asked, such as for want of a secret: then any other answer ends that.
func (p *pauses) unasked(tool string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tools[tool]
	return t != nil && !strings.HasPrefix(t.Why, askedPrefix)
}

// yield lets another run try what this one tried without learning anything.
func (p *pauses) yield(run string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.tools {
		if t.trying == run {
			t.trying = ""
		}
	}
}

// restore takes over a pause that an earlier process has recorded.
func (p *pauses) restore(tool string, how journal.Pause, due time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.tools[tool]; t != nil && t.Times >= how.Times {
		return
	}
	if p.tools == nil {
		p.tools = map[string]*toolPause{}
	}
	p.tools[tool] = &toolPause{Pause: how, due: due}
}

func (p *pauses) paused(tool string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tools[tool] != nil
}
