package journal

import (
	"context"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/host"
)

// Codes of waits: what a call has left its memory for. All but the last two
// end by themselves when they are due.
const (
	WaitBackoff    = "backoff"     // its next try
	WaitRetryAfter = "retry_after" // its next try, when the receiver said
	WaitSettle     = "settle"      // the next time its receiver is asked
	WaitHanging    = "hanging"     // a send that has not returned
	WaitPaused     = "tool_paused" // credentials that the receiver accepts
	WaitKey        = "key"         // another call that has its business key
)

// Wait is a call of the open attempt that waits without instance, goroutine or
// worker. The attempt stays open; going on with it costs nothing.
type Wait struct {
	Step    int    `cbor:"1,keyasint"`
	Attempt int    `cbor:"2,keyasint"`
	Call    int    `cbor:"3,keyasint"` // index in the attempt; it need not have an intent yet
	Code    string `cbor:"4,keyasint"`
	Until   int64  `cbor:"5,keyasint"` // microseconds
	Tool    string `cbor:"6,keyasint"` // the operator's id
	// Sentence tells a person what is waited for; Waker is who ends it.
	Sentence string `cbor:"7,keyasint"`
	Waker    string `cbor:"8,keyasint"`
	// Waited is where the call stood, if it left from inside the protocol.
	Waited *Waited `cbor:"9,keyasint,omitempty"`
	// Pause is set with WaitPaused.
	Pause *Pause `cbor:"10,keyasint,omitempty"`
	// Business is set with WaitKey: the name under which the key is kept.
	Business []byte `cbor:"11,keyasint,omitempty"`
}

// Waited is [host.Waited] as it is kept.
type Waited struct {
	Sent      int    `cbor:"1,keyasint,omitempty"`
	Asked     int    `cbor:"2,keyasint,omitempty"`
	Unapplied bool   `cbor:"3,keyasint,omitempty"`
	Outcome   uint8  `cbor:"4,keyasint,omitempty"`
	Settles   bool   `cbor:"5,keyasint,omitempty"`
	Code      string `cbor:"6,keyasint,omitempty"`
	Message   string `cbor:"7,keyasint,omitempty"`
	After     int64  `cbor:"8,keyasint,omitempty"` // microseconds
	Refused   bool   `cbor:"9,keyasint,omitempty"` // the credentials
}

// Pause is how long a tool has been paused for its credentials.
type Pause struct {
	Since int64  `cbor:"1,keyasint"` // microseconds
	Times int    `cbor:"2,keyasint"` // refusals in a row
	Why   string `cbor:"3,keyasint"` // the answer's code, such as http_401
}

// NewWaited makes the record of w.
func NewWaited(w *host.Waited) *Waited {
	return &Waited{
		Sent: w.Sent, Asked: w.Asked, Unapplied: w.Unapplied, Outcome: uint8(w.Last.Outcome), Settles: w.Last.Settles,
		Code: w.Last.Code, Message: w.Last.Message, After: w.Last.RetryAfter.Microseconds(), Refused: w.Last.CredentialsRefused,
	}
}

// Host is the inverse of [NewWaited]; nil of nil.
func (w *Waited) Host() *host.Waited {
	if w == nil {
		return nil
	}
	return &host.Waited{Sent: w.Sent, Asked: w.Asked, Unapplied: w.Unapplied, Last: host.Answer{
		Outcome: host.Outcome(w.Outcome), Settles: w.Settles, Code: w.Code, Message: w.Message,
		RetryAfter: time.Duration(w.After) * time.Microsecond, CredentialsRefused: w.Refused,
	}}
}

// wait folds a wait into the state.
func (s *State) wait(r *Wait) error {
	st, err := s.open(r.Step, r.Attempt)
	if err != nil {
		return err
	}
	if r.Call < 0 || r.Call > len(st.Calls) {
		return fmt.Errorf("a wait of call %d, which is not there", r.Call)
	}
	if r.Waited != nil {
		c, err := s.unsettled(r.Step, r.Attempt, r.Call)
		if err != nil {
			return err
		}
		c.Waited = r.Waited
		// Refused credentials use up nothing, or a run would have spent its calls
		// by waiting for a person.
		if r.Code == WaitPaused && r.Waited.Refused && c.Spared != c.Tries {
			c.Spared = c.Tries
			s.Used.Calls--
		}
	}
	s.Phase, s.Wait, s.Clean = PhaseWaiting, r, true
	st.Phase, st.Next = PhaseWaiting, fromMicros(r.Until)
	return nil
}

// Wait records that a call waits, and waits until that is durable.
func (r *Run) Wait(ctx context.Context, w *Wait) error {
	name := r.stepName(w.Step)
	e := Event{Kind: Waiting, Step: name, Attempt: w.Attempt, Call: w.Call, Code: w.Code, Message: w.Sentence, Due: fromMicros(w.Until)}
	wait, err := r.write(nil, []Event{{Kind: CheckpointDurable, Step: name, Attempt: w.Attempt, Call: w.Call}, e}, Record{Wait: w})
	if err != nil {
		return err
	}
	return wait.Wait(ctx)
}
