package host

import (
	"context"
	"time"
)

// Ledger is what the effect protocol needs of a store. The runtime's journal
// implements it. All records of one run are kept in the order in which they
// are given; when a barrier's Wait returns nil, its record and all earlier ones
// of the run are durable.
type Ledger interface {
	// Intend records the call with the charge of its first try, and checks the
	// budgets, as one act. If a budget does not allow the call, nothing is
	// recorded and the error says which.
	Intend(ctx context.Context, i Intent) (Barrier, error)
	// Retry records and charges a further try; same errors.
	Retry(ctx context.Context, r Retry) (Barrier, error)
	// Asked reports a verify query, after the answer to the last try, which
	// settled nothing. It is shown to people, not charged, and need not be
	// recorded.
	Asked(ctx context.Context, last Answer, v Verdict)
	// Settle records what came of the call. Nobody waits for it.
	Settle(ctx context.Context, r Receipt) error
}

// Barrier is a record on its way to the disk.
type Barrier interface {
	// Wait returns nil when the record is durable. If it returns an error,
	// nothing may be sent.
	Wait(ctx context.Context) error
}

// Intent is the record before an effect.
type Intent struct {
	Call     *Call
	Class    Class
	Contract Contract
	// At is when the call is first sent, as far as the ledger knows.
	At time.Time
	// Receiver is who receives the call, of a tool that is [Receiving]; else
	// empty.
	Receiver string
}

// Retry is the record before a further try.
type Retry struct {
	Call *Call // Call.Try is the number of the try to come
	At   time.Time
	// Last is what the try before came to; its Code is "interrupted" when that
	// is not known because the process ended.
	Last Answer
	// Receiver is as in [Intent]. It differs from the intent's when the tries so
	// far are known not to be applied and the tool was pointed elsewhere.
	Receiver string
}

// Past is what the ledger knows of a call that was begun and not settled. The
// zero value is a call whose key was never sent.
type Past struct {
	// Tries is the number of sendings recorded and not settled, 0 for a new call
	// or one that is made again.
	Tries int
	// First is when the key was first recorded to be sent, also by an earlier
	// attempt: the receiver's memory of it begins there. Last is the last try's.
	First, Last time.Time
	// Receiver is who the last try went to, as its [Intent] or [Retry] says;
	// empty if that is not known.
	Receiver string
	// Waited is set if the last entry ended with a [WaitError], and nothing was
	// sent since: the call goes on where it was.
	Waited *Waited
}

// Waited is where a call stood when it left its memory to wait.
type Waited struct {
	// Sent and Asked count the sendings and the unanswered queries of the
	// entries so far: they count against the contract's tries as if there had
	// been no wait.
	Sent, Asked int
	// Unapplied says that all tries so far are known not to be applied.
	Unapplied bool
	// Last is the answer to the last try, without its response. Its RetryAfter
	// is what is left of the wait before the next try when this one is over.
	// Keep at least its Outcome, Code and RetryAfter.
	Last Answer
}
