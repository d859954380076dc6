package runtime

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"time"
)

// CheckpointFormat is the number of the checkpoint document's format. It rises
// only for changes that break readers; readers allow fields they do not know.
const CheckpointFormat = 1

//go:embed checkpoint.schema.json
var checkpointSchema []byte

// CheckpointSchema is the JSON Schema (2020-12) of the checkpoint document.
func CheckpointSchema() []byte { return append([]byte(nil), checkpointSchema...) }

// RunState is what a run, or a step, is up to; a run's is derived.
type RunState string

// The states of a run. Steps also have "pending".
const (
	StateRunning       RunState = "running"        // an attempt is under way
	StateWaiting       RunState = "waiting"        // for a timer
	StateNeedsDecision RunState = "needs_decision" // a person has to decide
	StateFailed        RunState = "failed"         // holds; not ended
	StateIncompatible  RunState = "incompatible"   // this program cannot go on with it
	StateInterrupted   RunState = "interrupted"    // nobody executes it; it can be resumed
	StateCompleted     RunState = "completed"
	StateQueued        RunState = "queued"  // the engine goes on with it by itself, later
	StateHeld          RunState = "held"    // the store is held
	StatePending       RunState = "pending" // steps only: not begun
)

// RunStates are the states of a run, those that need people first.
func RunStates() []RunState {
	return []RunState{
		StateNeedsDecision, StateFailed, StateIncompatible, StateHeld, StateInterrupted, StateWaiting, StateQueued, StateRunning,
		StateCompleted,
	}
}

// Checkpoint is the checkpoint document: how a run stands durably. Its JSON
// form is public and has a published schema; see [CheckpointSchema].
type Checkpoint struct {
	Format         int               `json:"format"`
	Run            string            `json:"run"`
	ExternalID     string            `json:"external_id"`
	Title          string            `json:"title"`
	Labels         map[string]string `json:"labels"`
	Workflow       WorkflowID        `json:"workflow"`
	Pins           Pins              `json:"pins"`
	Seq            uint64            `json:"seq"`
	State          RunState          `json:"state"`
	Reasons        []Reason          `json:"reasons"`
	Started        time.Time         `json:"started"`
	Updated        time.Time         `json:"updated"`
	Input          json.RawMessage   `json:"input"`
	ResumeFrom     string            `json:"resume_from,omitempty"`
	Ready          []string          `json:"ready"`
	CompletedSteps []string          `json:"completed_steps"`
	Steps          []StepCheckpoint  `json:"steps"`
	Approvals      []struct{}        `json:"approvals"`
	// Orphans are the effects of earlier attempts that the finishing one did not
	// make, of a run that waits for a decision about them.
	Orphans     []Orphan     `json:"orphans"`
	Budgets     Budgets      `json:"budgets"`
	LastError   *LastError   `json:"last_error,omitempty"`
	Differences []Difference `json:"differences,omitempty"` // of an incompatible run
	// Upgrades are the moves to other versions, in order.
	Upgrades []Upgraded `json:"upgrades,omitempty"`
	Actions  []Action   `json:"actions"`
}

// Upgraded is a move of a run to another version of its workflow.
type Upgraded struct {
	At   time.Time `json:"at"`
	From string    `json:"from"` // digests
	To   string    `json:"to"`
}

// WorkflowID names the workflow of a run.
type WorkflowID struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
}

// Pins are what the run was begun with. Modules and tools map names to
// digests.
type Pins struct {
	Modules     map[string]string `json:"modules"`
	Tools       map[string]string `json:"tools"`
	ABI         int               `json:"abi"`
	Semantics   int               `json:"semantics"`
	StateFormat int               `json:"state_format"`
	Arch        string            `json:"arch"`
}

// Reason says why a run is not moving, and who can move it.
type Reason struct {
	Code     string     `json:"code"`
	Step     string     `json:"step,omitempty"`
	Call     *int       `json:"call,omitempty"`
	Waker    string     `json:"waker"`
	At       *time.Time `json:"at,omitempty"` // when the waker acts by itself
	Sentence string     `json:"sentence"`
	Help     string     `json:"help,omitempty"`
}

// StepCheckpoint is how one step stands.
type StepCheckpoint struct {
	Name     string           `json:"name"`
	State    RunState         `json:"state"`
	Attempts int              `json:"attempts"`
	Began    *time.Time       `json:"began,omitempty"`
	Ended    *time.Time       `json:"ended,omitempty"`
	Output   json.RawMessage  `json:"output,omitempty"`
	Calls    []CallCheckpoint `json:"calls"`
	// Unclaimed are calls of earlier attempts that the last one has not come to;
	// N is their place in the attempt that last had them.
	Unclaimed []CallCheckpoint `json:"unclaimed"`
}

// Orphan is a call of a step whose last attempt ended without it.
type Orphan struct {
	Step string `json:"step"`
	CallCheckpoint
}

// CallCheckpoint is how one call stands. A call that was refused before it
// became an intent has no key.
type CallCheckpoint struct {
	N           int    `json:"n"` // from 0
	Tool        string `json:"tool"`
	Use         string `json:"use,omitempty"` // the operator's tool, where the name differs
	Effect      string `json:"effect,omitempty"`
	Attempt     int    `json:"attempt"`
	Key         string `json:"key,omitempty"`
	BusinessKey string `json:"business_key,omitempty"`
	Borrowed    string `json:"borrowed,omitempty"`   // the run that made the call, which has the same business key
	Generation  uint32 `json:"generation,omitempty"` // of the key
	RequestHash string `json:"request_hash"`
	// ShownHash is the hash of the request as people see it before it is sent.
	ShownHash string `json:"shown_hash,omitempty"`
	Receiver  string `json:"receiver,omitempty"` // whom the last try went to
	Claimed   bool   `json:"claimed,omitempty"`  // made by an earlier attempt, whose receipt the attempt got
	Tries     int    `json:"tries"`
	// FirstTry is when it was first recorded that the call would be sent; of a
	// business key, by any run.
	FirstTry     time.Time       `json:"first_try,omitzero"`
	LastTry      time.Time       `json:"last_try,omitzero"`
	Outcome      string          `json:"outcome"`
	Status       string          `json:"status,omitempty"` // what the step was told
	Code         string          `json:"code,omitempty"`
	Message      string          `json:"message,omitempty"`
	Request      json.RawMessage `json:"request,omitempty"`
	Compensation *Compensation   `json:"compensation,omitempty"`
	Receipt      *ReceiptView    `json:"receipt,omitempty"`
}

// Compensation says what could undo a call.
type Compensation struct {
	Tool  string `json:"tool"`
	State string `json:"state"`
}

// ReceiptView is what came of a call.
type ReceiptView struct {
	At       time.Time        `json:"at"`
	Status   int              `json:"status,omitempty"`
	Verified bool             `json:"verified,omitempty"` // learnt by asking
	Response json.RawMessage  `json:"response,omitempty"` // other bodies as a base64 string
	Units    map[string]int64 `json:"units,omitempty"`
}

// Counter is a budget; without a limit it is only counted.
type Counter struct {
	Limit *int64 `json:"limit,omitempty"`
	Used  int64  `json:"used"`
}

// Budgets are what the run may spend and has spent, over all processes.
type Budgets struct {
	Attempts Counter `json:"attempts"`
	Calls    Counter `json:"calls"`
	// Work is what the guests computed, in the units of the sandbox: each
	// position of an attempt once, however often it was entered.
	Work Counter `json:"work"`
	// Recoveries are limited in a row at one journal position (InARow); Used is
	// the total.
	Recoveries struct {
		Counter
		InARow int64 `json:"in_a_row"`
	} `json:"recoveries"`
	ActiveMS Counter            `json:"active_ms"`
	Deadline *time.Time         `json:"deadline,omitempty"`
	Units    map[string]Counter `json:"units"`
}

// LastError is the last attempt that failed. It stays after a later success.
type LastError struct {
	Code      string          `json:"code"`
	Message   string          `json:"message"`
	Step      string          `json:"step"`
	Call      *int            `json:"call,omitempty"`
	Attempt   int             `json:"attempt"`
	Kind      string          `json:"kind"` // temporary or deterministic
	Retryable bool            `json:"retryable"`
	At        time.Time       `json:"at"`
	Detail    json.RawMessage `json:"detail,omitempty"`
}

// Action is what may happen next, and who may do it.
type Action struct {
	Action  string   `json:"action"`
	Roles   []string `json:"roles"`
	Does    string   `json:"does"`
	DoesNot string   `json:"does_not"`
	// Seen binds the action to what was shown.
	Seen string `json:"seen"`
}

// Step returns the step with the name, or nil.
func (c *Checkpoint) Step(name string) *StepCheckpoint {
	for i := range c.Steps {
		if c.Steps[i].Name == name {
			return &c.Steps[i]
		}
	}
	return nil
}

// Output is the run's output as JSON; nil unless the run is completed.
func (c *Checkpoint) Output() json.RawMessage {
	if c.State != StateCompleted || len(c.Steps) == 0 {
		return nil
	}
	return c.Steps[len(c.Steps)-1].Output
}

// err is what Await says of a run that did not complete.
func (c *Checkpoint) err() error {
	e := &StepError{Run: c.Run, Step: c.ResumeFrom}
	if st := c.Step(c.ResumeFrom); st != nil {
		e.Attempt = st.Attempts
	}
	cause := map[RunState]error{
		StateFailed: ErrFailed, StateNeedsDecision: ErrNeedsDecision, StateIncompatible: ErrIncompatible,
	}[c.State]
	if cause == nil {
		cause = ErrInterrupted
	}
	e.Err = cause
	if len(c.Reasons) > 0 {
		e.Err = fmt.Errorf("%w: %s", cause, c.Reasons[0].Sentence)
	}
	if len(c.Actions) > 0 {
		e.Hint = c.Actions[0].Action + ": " + c.Actions[0].Does
	}
	return e
}

// Resumption tells what a resume did to a run, from its checkpoints before and
// after.
type Resumption struct {
	Run        string   `json:"run"`
	State      RunState `json:"state"`
	ResumeFrom string   `json:"resume_from"`
	// RepeatedCompletedSteps would be a broken promise: a step that was
	// completed before has run again.
	RepeatedCompletedSteps bool `json:"repeated_completed_steps"`
	// ResumedSteps are all completed steps of the run, in order.
	ResumedSteps []string `json:"resumed_steps"`
}

// CompareResume makes a [Resumption].
func CompareResume(before, after *Checkpoint) Resumption {
	r := Resumption{Run: after.ExternalID, State: after.State, ResumeFrom: before.ResumeFrom, ResumedSteps: after.CompletedSteps}
	for _, name := range before.CompletedSteps {
		was, is := before.Step(name), after.Step(name)
		if is == nil || is.Attempts != was.Attempts || is.State != StateCompleted || len(is.Calls) != len(was.Calls) {
			r.RepeatedCompletedSteps = true
		}
	}
	return r
}
