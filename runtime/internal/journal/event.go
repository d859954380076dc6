package journal

import (
	"log/slog"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
)

// EventKind says what an [Event] announces.
type EventKind string

// The boundaries around a call and around a step. A run stands still while the
// observer handles one.
const (
	BeforeIntent      EventKind = "before_intent"
	IntentDurable     EventKind = "intent_durable"
	Sent              EventKind = "sent" // about to leave: announced by the tool before the first byte
	Answered          EventKind = "answered"
	ReceiptDurable    EventKind = "receipt_durable"
	Begun             EventKind = "begun" // before the guest is entered
	Returned          EventKind = "returned"
	CheckpointDurable EventKind = "checkpoint_durable" // a step's end or a park
)

// The notices: no boundaries, for people who watch.
const (
	Started       EventKind = "started"
	Recovered     EventKind = "recovered" // an attempt is entered again after a crash
	Refused       EventKind = "refused"   // a call that never became an intent
	Claimed       EventKind = "claimed"   // durable: a call got the receipt that an earlier attempt has of it
	Retrying      EventKind = "retrying"  // a try came to nothing, another follows
	Asked         EventKind = "asked"     // the receiver was asked what happened; the message is that of the try, or why there is no verdict
	AttemptFailed EventKind = "attempt_failed"
	Parked        EventKind = "parked"
	Waiting       EventKind = "waiting"        // durable: a call has left its memory to wait
	Stopped       EventKind = "stopped"        // left in good order, resumable
	StepCompleted EventKind = "step_completed" // durable
	Completed     EventKind = "completed"
	Interrupted   EventKind = "interrupted" // left, and not in good order: what it did last may not be recorded
	Logged        EventKind = "log"
)

// Event is one thing that happened to a run.
type Event struct {
	Kind    EventKind
	Run     string
	Step    string
	Attempt int
	Call    int    // index in the attempt, or -1
	Tool    string // as the step calls it
	Use     string // the operator's id of the tool; empty for a call without a grant
	Class   host.Class
	Key     host.Key
	Try     int
	Tries   int // how many tries the tool's contract allows
	Outcome host.Outcome
	Status  abi.Status
	Code    string
	Message string
	// Seq is the sequence number of the last record that the run made; for the
	// durable kinds, of the record that is now durable.
	Seq uint64
	// Merged says that the record before became durable in the same commit.
	Merged bool
	// Due is when the next attempt is due, for AttemptFailed, or
	// a wait is over; zero if never.
	Due time.Time
	// Elapsed is the time since the intent (for calls) or since the guest was
	// entered (for steps).
	Elapsed time.Duration
	Level   slog.Level // of Logged
}

// Observer is told of everything that happens to runs. It is called
// synchronously and may block; it must be safe for concurrent use, since many
// runs call it.
type Observer func(Event)
