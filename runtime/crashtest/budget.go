package crashtest

import "github.com/pawl-dev/pawl/host"

// toll is what a kill may cost a run beyond what it had spent without it.
type toll struct {
	calls, recoveries int64
	// parks says that the machine may not go on by itself: a person decides.
	parks bool
}

// tollOf is the budget table. Attempts and units never cost more: an attempt is
// re-entered, not begun again, and what an answer would have booked is booked
// when it is known.
//
//	                                        H0  H1  H2  H3  H4  H5  H6
//	recoveries, every class                 +1  +1  +1  +1  +1  +1  +1, after the last step 0
//	calls: read                              0  +1  +1  +1  +1   0   0
//	       keyed or verify that is asked     0  +1  +1   0   0   0   0
//	       keyed that cannot be asked        0  +1  +1  +1  +1   0   0
//	       once that is asked                0  park park 0   0   0   0
//	       once that cannot be asked         0  park park park park 0 0
//
// A kill behind a try that came to nothing (retry) costs a recovery: the next
// sending is the one that would have come anyway. One while the run waits (wait,
// park) costs nothing, one with a further attempt begun (begin) a recovery.
// The point before a write costs what H1 costs, the point after it what H4
// does. A call is charged with each sending: at H1 the sending that did not
// happen stays charged, since nobody can tell it from H2.
func tollOf(b *boundary) toll {
	t := toll{recoveries: 1}
	if b.Point == H6 && b.Next == "" || b.parked() {
		t.recoveries = 0 // the run is over, or nothing of it was under way
	}
	var applied bool
	switch b.Point {
	case Retry:
		t.parks = b.contract.Effect != host.Read && !repeats(b.contract)
		return t
	case H1, H2, BeforeWrite:
	case H3, H4, AfterWrite:
		applied = !b.loose
	default:
		return t
	}
	c := b.contract
	switch {
	case c.Effect == host.Read:
		t.calls = 1
	case applied && c.Verifies: // asked: found
	case repeats(c):
		t.calls = 1
	default:
		t.parks = true
	}
	return t
}

// repeats reports whether the machine sends a call again whose outcome it does
// not know, after asking where that can be done.
func repeats(c host.Contract) bool {
	switch c.Effect {
	case host.Keyed:
		return c.KeyWindow != host.NoKeyWindow
	case host.Verify:
		return c.Verifies
	}
	return false
}
