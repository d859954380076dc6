package runtime

import "github.com/pawl-dev/pawl/runtime/internal/journal"

type (
	// Event is one thing that happened to a run.
	Event = journal.Event
	// EventKind says what an [Event] announces.
	EventKind = journal.EventKind
	// Observer is told of everything that happens to runs. It is called
	// synchronously and may block: the run stands still meanwhile. It must be
	// safe for concurrent use.
	Observer = journal.Observer
)

// The boundaries around a call and around a step.
const (
	BeforeIntent      = journal.BeforeIntent
	IntentDurable     = journal.IntentDurable
	Sent              = journal.Sent
	Answered          = journal.Answered
	ReceiptDurable    = journal.ReceiptDurable
	Begun             = journal.Begun
	Returned          = journal.Returned
	CheckpointDurable = journal.CheckpointDurable
)

// Notices for people who watch.
const (
	Started       = journal.Started
	Recovered     = journal.Recovered
	Refused       = journal.Refused
	Claimed       = journal.Claimed
	Retrying      = journal.Retrying
	Asked         = journal.Asked
	AttemptFailed = journal.AttemptFailed
	Parked        = journal.Parked
	Waiting       = journal.Waiting
	Stopped       = journal.Stopped
	StepCompleted = journal.StepCompleted
	Completed     = journal.Completed
	Interrupted   = journal.Interrupted
	Logged        = journal.Logged
)
