package host

import (
	"context"
	"time"

	"github.com/pawl-dev/pawl/host/abi"
)

// Tool is what a call reaches. Its methods may be used concurrently.
type Tool interface {
	// ID is the operator's stable name of the tool, [a-z0-9_.-]{1,64}. It is
	// part of every key.
	ID() string
	// Contract is what the tool promises; it must not change.
	Contract() Contract
	// Try sends the call once and says what became of it. It must not send it
	// again by itself, and returns soon after ctx ends: [Do] leaves one that does
	// not, and drops its answer. It calls c.Sent right before the first byte
	// leaves.
	Try(ctx context.Context, c *Call) Answer
}

// Verifier is a tool that can be asked by key what became of a call.
type Verifier interface {
	Tool
	// Verify asks. It must change nothing.
	Verify(ctx context.Context, c *Call) Verdict
}

// Checker is a tool that can tell before anything is recorded that a request
// cannot be sent as it is.
type Checker interface {
	Tool
	// Check returns what is wrong with the request, for the step's author.
	Check(c *Call) error
}

// Receiving is a tool that knows who receives its calls.
type Receiving interface {
	Tool
	// Receiver names whose books a call ends up in, for people too: scheme,
	// host, and the account label of the secret if there is one, such as
	// "https://api.pay.example (acme-eu)". It is recorded with the intent. At
	// another receiver the key is unknown whatever happened, so an open call is
	// neither repeated nor settled as absent there. It must not change, nor wait
	// for anything.
	Receiver() string
}

// Shower is a tool that can show a request as it would be sent.
type Shower interface {
	Tool
	// Show returns the request with everything filled in except secrets, which
	// stand there as their names. People approve what is shown; its hash is
	// recorded with the intent.
	Show(c *Call) ([]byte, error)
}

// Call is one host call by a step.
type Call struct {
	// Tool is the operator's id of the tool.
	Tool string
	// Run, Step, Attempt and Index (from 0) say where the call is.
	Run, Step string
	Attempt   int
	Index     int
	// Key is the call's idempotency key, equal in every try.
	Key Key
	// Type and Body are the request: abi.TypeJSON or abi.TypeBytes.
	Type string
	Body []byte
	// Hash is the request hash.
	Hash Hash
	// Shown is the hash of the request as it is shown to people: see [Shower].
	Shown Hash
	// SeeUnknown says that the step opted in to be told of an unknown outcome.
	SeeUnknown bool
	// Patience is the longest that [Do] waits before a further try or query; a
	// longer wait ends it with a [WaitError]. 0 waits as long as it takes, except
	// for credentials, which always end it.
	Patience time.Duration
	// Sends are the sends of this process that have not returned; all calls of
	// an engine share one. Nil: calls are not watched across entries.
	Sends *Sends
	// Cut, if it is not nil, lets what is in flight outlive the end of Do's ctx:
	// a send or query is cut off when Cut is closed, and not before its deadline.
	// Nil: it is cut off when ctx ends.
	Cut <-chan struct{}
	// Try is the number of this sending over all processes, from 1.
	Try int
	// Sent is called by the tool right before the first byte leaves. Never nil
	// within Try.
	Sent func()
}

// Outcome is what became of a try.
type Outcome uint8

// The outcomes. The zero value is unknown: a tool that says nothing has
// settled nothing.
const (
	OutcomeUnknown    Outcome = iota
	OutcomeApplied            // the effect happened (for a read: it was answered)
	OutcomeRejected           // known not applied, for good
	OutcomeNotApplied         // known not applied, this time
)

var outcomeNames = [...]string{"unknown", "applied", "rejected", "not_applied"}

func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "unknown"
}

// MarshalText writes the outcome as its name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Response is what a receiver said, with secrets cut out.
type Response struct {
	Status int    // the status of the kind, such as the HTTP status; 0 if there is none
	Type   string // abi.TypeJSON or abi.TypeBytes
	Body   []byte
}

// Answer is what one try came to.
type Answer struct {
	// Outcome says what became of this try.
	Outcome Outcome
	// Settles says that the answer also tells what became of earlier unknown
	// tries of the same key: an applied or rejected that settles speaks for
	// them too. An unknown never settles.
	Settles  bool
	Response Response
	// Code ([a-z0-9_]+, such as "http_503" or "no_answer") and Message explain
	// an outcome other than applied.
	Code, Message string
	// RetryAfter is the least wait before another try; 0 if the receiver did
	// not say.
	RetryAfter time.Duration
	// Units are the amounts read from the answer, for the contract's Units.
	Units map[string]int64
	// CredentialsRefused says that the receiver did not accept who asks, so
	// that no call of this tool will work until a person has mended that. Only
	// with OutcomeNotApplied.
	CredentialsRefused bool
}

// VerdictKind is what a receiver says of a key.
type VerdictKind uint8

// The verdicts. The zero value is NoAnswer.
const (
	NoAnswer VerdictKind = iota
	Found                // the effect happened
	Absent               // the receiver does not know the key
)

// Verdict is the answer to a verify query.
type Verdict struct {
	Kind     VerdictKind
	Response Response // for Found: the receipt
	Units    map[string]int64
	// Code and Message explain a NoAnswer.
	Code, Message string
	RetryAfter    time.Duration
	// CredentialsRefused is as in [Answer].
	CredentialsRefused bool
}

// Receipt is the record of what came of a call: what the guest is given.
type Receipt struct {
	Outcome  Outcome
	Status   abi.Status
	Response Response
	// Code and Message explain a status other than OK.
	Code, Message string
	// After is the least wait before the call is made again.
	After time.Duration
	Units map[string]int64
	// At is when the outcome was known.
	At time.Time
	// Verified says that the outcome was learnt by asking.
	Verified bool
}
