package journal

import (
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// Format is the number of the record format; an entry with another one stops
// its run.
const Format = 1

// entry is what a chain holds under one sequence number.
type entry struct {
	Format int `cbor:"1,keyasint"`
	// At is when the entry was made, in microseconds since the epoch, by the
	// owner's clock. Order comes from sequence numbers, never from it.
	At int64 `cbor:"2,keyasint"`
	// Active is the active time since the entry before, in microseconds.
	Active  int64    `cbor:"3,keyasint,omitempty"`
	Records []Record `cbor:"4,keyasint"`
	// Work is how much the open attempt has computed beyond what was recorded
	// of it before, at the moment of the entry.
	Work int64 `cbor:"5,keyasint,omitempty"`
}

// Record is one fact about a run; exactly one field is set. Key 15 is an
// upgrade's, 16 a tool's in the store; 17 to 31 are reserved for approvals, decisions, signals, cancelling, saves, child runs,
// compensation and migrations.
type Record struct {
	Start   *Start   `cbor:"1,keyasint,omitempty"`
	Begin   *Begin   `cbor:"2,keyasint,omitempty"`
	Intent  *Intent  `cbor:"3,keyasint,omitempty"`
	Retry   *Retry   `cbor:"4,keyasint,omitempty"`
	Receipt *Receipt `cbor:"5,keyasint,omitempty"`
	Refusal *Refusal `cbor:"6,keyasint,omitempty"`
	Fail    *Fail    `cbor:"7,keyasint,omitempty"`
	Done    *Done    `cbor:"8,keyasint,omitempty"`
	Park    *Park    `cbor:"9,keyasint,omitempty"`
	Recover *Recover `cbor:"10,keyasint,omitempty"`
	Stop    *Stop    `cbor:"11,keyasint,omitempty"`
	Wait    *Wait    `cbor:"12,keyasint,omitempty"`
	Claim   *Claim   `cbor:"13,keyasint,omitempty"`
	Borrow  *Borrow  `cbor:"14,keyasint,omitempty"`
	Upgrade *Upgrade `cbor:"15,keyasint,omitempty"`
}

// Start begins a run.
type Start struct {
	Run        string            `cbor:"1,keyasint"`
	ExternalID string            `cbor:"2,keyasint"`
	Workflow   string            `cbor:"3,keyasint"` // name
	Version    string            `cbor:"4,keyasint"`
	Digest     string            `cbor:"5,keyasint"` // of the workflow
	Title      string            `cbor:"6,keyasint,omitempty"`
	Labels     map[string]string `cbor:"7,keyasint,omitempty"`
	Input      kv.Body           `cbor:"8,keyasint"`
	Pins       Pins              `cbor:"9,keyasint"`
	Limits     Limits            `cbor:"10,keyasint"`
	// Root is the key root, normally the run's id.
	Root  string   `cbor:"11,keyasint"`
	Steps []string `cbor:"12,keyasint"`
}

// Pins are what a run was begun with and goes on with.
type Pins struct {
	Modules     map[string]string `cbor:"1,keyasint"` // file name -> digest
	Tools       map[string][]byte `cbor:"2,keyasint"` // operator's id -> contract as JSON
	ABI         int               `cbor:"3,keyasint"`
	Semantics   int               `cbor:"4,keyasint"`
	StateFormat int               `cbor:"5,keyasint"`
	Arch        string            `cbor:"6,keyasint"`
}

// Begin begins an attempt of a step; it is the attempt's charge.
type Begin struct {
	Step    int `cbor:"1,keyasint"`
	Attempt int `cbor:"2,keyasint"` // from 1
}

// Intent is the record before an effect, with the charge of its first try.
type Intent struct {
	Step       int     `cbor:"1,keyasint"`
	Attempt    int     `cbor:"2,keyasint"`
	Call       int     `cbor:"3,keyasint"` // index in the attempt, from 0
	Grant      string  `cbor:"4,keyasint"` // the tool's name as the step calls it
	Tool       string  `cbor:"5,keyasint"` // the operator's id
	Class      uint8   `cbor:"6,keyasint"`
	Key        []byte  `cbor:"7,keyasint"` // 16 bytes
	KeyVersion int     `cbor:"8,keyasint"`
	Hash       []byte  `cbor:"9,keyasint"` // 32 bytes
	Type       string  `cbor:"10,keyasint"`
	Request    kv.Body `cbor:"11,keyasint"`
	Occurrence uint32  `cbor:"12,keyasint,omitempty"`
	Generation uint32  `cbor:"13,keyasint,omitempty"`
	Charged    bool    `cbor:"14,keyasint,omitempty"`
	Receiver   string  `cbor:"15,keyasint,omitempty"` // who the first try went to
	Shown      []byte  `cbor:"16,keyasint,omitempty"` // 32 bytes: hash of the request as people see it
	SeeUnknown bool    `cbor:"17,keyasint,omitempty"`
	// First is when another call may have sent the key before, microseconds.
	First int64 `cbor:"18,keyasint,omitempty"`
	// Business is the business key, as the step gave it, cut.
	Business string `cbor:"19,keyasint,omitempty"`
}

// Retry is the record before a further try, with its charge.
type Retry struct {
	Step    int    `cbor:"1,keyasint"`
	Attempt int    `cbor:"2,keyasint"`
	Call    int    `cbor:"3,keyasint"`
	Try     int    `cbor:"4,keyasint"` // from 2
	Code    string `cbor:"5,keyasint,omitempty"`
	Message string `cbor:"6,keyasint,omitempty"`
	// Receiver is who the try goes to.
	Receiver string `cbor:"7,keyasint,omitempty"`
}

// Receipt is what came of a call.
type Receipt struct {
	Step     int              `cbor:"1,keyasint"`
	Attempt  int              `cbor:"2,keyasint"`
	Call     int              `cbor:"3,keyasint"`
	Outcome  uint8            `cbor:"4,keyasint"`
	Status   uint32           `cbor:"5,keyasint"`
	Answer   int              `cbor:"6,keyasint,omitempty"` // status of the tool's kind, such as 201
	Type     string           `cbor:"7,keyasint,omitempty"`
	Response kv.Body          `cbor:"8,keyasint"`
	Code     string           `cbor:"9,keyasint,omitempty"`
	Message  string           `cbor:"10,keyasint,omitempty"`
	After    int64            `cbor:"11,keyasint,omitempty"` // milliseconds
	Units    map[string]int64 `cbor:"12,keyasint,omitempty"`
	At       int64            `cbor:"13,keyasint"` // microseconds
	Verified bool             `cbor:"14,keyasint,omitempty"`
}

// Refusal is a call that never became an intent; it is charged all the same.
type Refusal struct {
	Step    int    `cbor:"1,keyasint"`
	Attempt int    `cbor:"2,keyasint"`
	Call    int    `cbor:"3,keyasint"`
	Grant   string `cbor:"4,keyasint"`
	Tool    string `cbor:"5,keyasint"`
	Hash    []byte `cbor:"6,keyasint"`
	Status  uint32 `cbor:"7,keyasint"`
	Code    string `cbor:"8,keyasint"`
	Message string `cbor:"9,keyasint"`
}

// Kinds of a failure.
const (
	Temporary     = "temporary"     // another attempt may help
	Deterministic = "deterministic" // the same would happen again: new code or input is needed
)

// Fail ends an attempt that failed.
type Fail struct {
	Step    int    `cbor:"1,keyasint"`
	Attempt int    `cbor:"2,keyasint"`
	Code    string `cbor:"3,keyasint"`
	Message string `cbor:"4,keyasint"`
	Kind    string `cbor:"5,keyasint"`
	Retry   string `cbor:"6,keyasint"`           // again, fresh, never
	Next    int64  `cbor:"7,keyasint,omitempty"` // when the next attempt is due, microseconds; 0 = there is none
	Call    int    `cbor:"8,keyasint"`           // the failed call that the attempt ended with, or -1
	Detail  []byte `cbor:"9,keyasint,omitempty"` // JSON
}

// Done ends a step. The last step's output is the run's.
type Done struct {
	Step    int     `cbor:"1,keyasint"`
	Attempt int     `cbor:"2,keyasint"`
	Output  kv.Body `cbor:"3,keyasint"`
}

// Codes of parks that wait for a person.
const (
	ParkUnknown     = "unknown"     // the outcome of a call is not known
	ParkDiverged    = "diverged"    // the step made another call than its journal holds
	ParkQuarantined = "quarantined" // too many recoveries at one position
	ParkBudget      = "budget"      // a budget of the run is spent
	ParkDeadline    = "deadline"    // the run's deadline is over
	ParkOrphan      = "orphan"      // effects of an earlier attempt were not made by the one that ended
)

// Park leaves memory until a person acts.
type Park struct {
	Step     int    `cbor:"1,keyasint"`
	Attempt  int    `cbor:"2,keyasint"`
	Code     string `cbor:"3,keyasint"`
	Call     int    `cbor:"4,keyasint"` // or -1
	Sentence string `cbor:"5,keyasint"`
	Help     string `cbor:"6,keyasint,omitempty"`
}

// Recover is one re-entry of an attempt. It is a charge, unless the attempt
// had been left in good order: then it only says that it no longer is.
type Recover struct {
	Step     int  `cbor:"1,keyasint"`
	Attempt  int  `cbor:"2,keyasint"`
	Position int  `cbor:"3,keyasint"` // settled calls of the step
	Free     bool `cbor:"4,keyasint,omitempty"`
}

// Stop says that the owner left the attempt in good order: going on with it
// costs no recovery.
type Stop struct {
	Step    int `cbor:"1,keyasint"`
	Attempt int `cbor:"2,keyasint"`
}

// Upgrade moves the run to another version of its workflow.
type Upgrade struct {
	Digest  string   `cbor:"1,keyasint"`
	Version string   `cbor:"2,keyasint"`
	Pins    Pins     `cbor:"3,keyasint"`
	Steps   []string `cbor:"4,keyasint"`
	From    string   `cbor:"5,keyasint"` // the digest before
}

func micros(t time.Time) int64 { return t.UnixMicro() }

// Recorded is t as a record keeps it. What a guest is told of a time must be
// that, or a replay tells it another.
func Recorded(t time.Time) time.Time { return fromMicros(micros(t)) }

func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }
