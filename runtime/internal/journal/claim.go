package journal

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pawl-dev/pawl/host"
)

// Claim gives a call of the open attempt the receipt that an earlier attempt
// has of it: the step went another way and came to an effect that is there.
type Claim struct {
	Step    int `cbor:"1,keyasint"`
	Attempt int `cbor:"2,keyasint"`
	Call    int `cbor:"3,keyasint"` // index in the attempt, from 0
	// Of is the claimed call's [Call.Seq].
	Of uint64 `cbor:"4,keyasint"`
}

// Same reports whether the call is the occurrence-th one of the request.
func (c *Call) Same(tool string, hash host.Hash, occurrence uint32) bool {
	return c.Tool == tool && c.Hash == hash && c.Occurrence == occurrence
}

// Stands reports whether the call may have changed something outside by
// itself: a completed write, or one whose outcome the step was told is unknown.
func (c *Call) Stands() bool {
	if c.Class == host.Read || c.Refused || c.Borrowed != "" || c.Receipt == nil {
		return false
	}
	outcome := host.Outcome(c.Receipt.Outcome)
	return outcome == host.OutcomeApplied || outcome == host.OutcomeUnknown
}

// before reports whether c came before d: by their places in the line that
// both were part of last, else by when they were sent.
func (c *Call) before(d *Call) bool {
	if c.line == d.line {
		return c.place < d.place
	}
	return c.Seq < d.Seq
}

// Match returns the call that an earlier attempt made and that no call of the
// open one has claimed yet, or nil.
func (st *Step) Match(tool string, hash host.Hash, occurrence uint32) *Call {
	for _, c := range st.Unclaimed {
		if c.Same(tool, hash, occurrence) {
			return c
		}
	}
	return nil
}

// Overtaken returns a claimed effect that came after c, or nil: claiming c now
// would tell the step of the two in the wrong order.
func (st *Step) Overtaken(c *Call) *Call {
	for _, d := range st.Calls {
		if d.Claimed && d.Stands() && c.before(d) {
			return d
		}
	}
	return nil
}

// Takes says how attempt gets the answer of an unclaimed call: by claiming it,
// or by making it again. A read is made again if a write comes before it now
// that came after it then, unless its answer was paid for.
func (st *Step) Takes(c *Call, attempt int) (claim bool) {
	switch {
	case c.Again(attempt):
		return false
	case c.Class != host.Read || c.Charged:
		return true
	}
	for _, d := range st.Calls {
		if d.Stands() && (d.Seq > c.Seq || d.Claimed && c.before(d)) {
			return false
		}
	}
	return true
}

// Orphans are the effects of earlier attempts that the open one has not
// claimed.
func (st *Step) Orphans() []*Call {
	var orphans []*Call
	for _, c := range st.Unclaimed {
		if c.Stands() {
			orphans = append(orphans, c)
		}
	}
	return orphans
}

// leave takes the calls from index on out of the line: attempt makes the one
// before them again, and the step may go another way from there. Refused calls
// are nothing that could be claimed.
func (st *Step) leave(index, attempt int) error {
	for i, c := range st.Calls[index:] {
		if c.Receipt == nil {
			return fmt.Errorf("call %d left behind while it is open", index+i)
		}
		if !c.Refused {
			c.line, c.place = attempt-1, index+i
			st.Unclaimed = append(st.Unclaimed, c)
		}
	}
	st.Calls = st.Calls[:index]
	slices.SortFunc(st.Unclaimed, func(a, b *Call) int { return cmp.Compare(a.Seq, b.Seq) })
	return nil
}

// resend takes the unclaimed call that c makes again out of the list.
func (st *Step) resend(c *Call) error {
	was := st.Match(c.Tool, c.Hash, c.Occurrence)
	if was == nil || c.Refused {
		return nil
	}
	if was.Class != host.Read && !was.Again(c.Attempt) {
		return fmt.Errorf("a settled call of attempt %d made again", was.Attempt)
	}
	c.inherit(was)
	st.drop(was)
	return nil
}

// inherit takes over since when the receiver knows the key.
func (c *Call) inherit(was *Call) {
	if was.Key == c.Key && was.First.Before(c.First) {
		c.First = was.First
	}
}

func (st *Step) drop(c *Call) {
	st.Unclaimed = slices.DeleteFunc(st.Unclaimed, func(d *Call) bool { return d == c })
}

func (s *State) claim(r *Claim) error {
	st, err := s.open(r.Step, r.Attempt)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(st.Unclaimed, func(c *Call) bool { return c.Seq == r.Of })
	if i < 0 || r.Call != len(st.Calls) {
		return fmt.Errorf("call %d claims what is not there to be claimed", r.Call)
	}
	was := st.Unclaimed[i]
	if !st.Takes(was, r.Attempt) || (was.Stands() && st.Overtaken(was) != nil) {
		return fmt.Errorf("call %d claims what it must not", r.Call)
	}
	c := *was
	c.Attempt, c.Claimed = r.Attempt, true
	st.drop(was)
	st.Calls = append(st.Calls, &c)
	return nil
}

// Claim records that a call of the open attempt gets the receipt of an
// unclaimed one. Nothing is sent, and nothing is charged.
func (r *Run) Claim(step, attempt, index int, of *Call) error {
	e := Event{
		Kind: Claimed, Step: r.stepName(step), Attempt: attempt, Call: index, Tool: of.Grant, Use: of.Tool, Key: of.Key, Class: of.Class,
		Outcome: host.Outcome(of.Receipt.Outcome), Code: of.Receipt.Code,
	}
	_, err := r.write(nil, []Event{e}, Record{Claim: &Claim{Step: step, Attempt: attempt, Call: index, Of: of.Seq}})
	return err
}

// Place is the call's index in the line that it was last part of.
func (c *Call) Place() int { return c.place }
