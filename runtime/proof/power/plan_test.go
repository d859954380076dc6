package power_test

import "time"

// Plan is everything that is tried with one disk: what its workflows do, and
// what goes wrong meanwhile. It is data, so that a plan that found something is
// kept as a file.
type Plan struct {
	// Seed decides what of the undurable batches survives a cut.
	Seed uint64 `json:"seed,omitempty"`
	// Shared disks can have two engines at a time, and keep dead owners' leases.
	Shared bool `json:"shared,omitempty"`
	// Peek has the receivers look whether what arrives has a durable intent.
	Peek  bool   `json:"peek,omitempty"`
	Flows []Flow `json:"flows"`
	Runs  []Run  `json:"runs"`
	Lives []Life `json:"lives"`
}

// Flow is a workflow.
type Flow struct {
	// Recoveries is the budget; 0 stands for more than there can be.
	Recoveries int    `json:"recoveries,omitempty"`
	Steps      []Step `json:"steps"`
}

// Step is what the guest does, and how receivers answer it.
type Step struct {
	Ops     []Op     `json:"ops"`
	Scripts []Script `json:"scripts,omitempty"`
}

// Op is a call and what the step does when it did not work.
type Op struct {
	Tool string `json:"tool"`
	N    int    `json:"n"` // the request
	// Key is a business key. Unknown opts in to see an unknown outcome.
	Key     string `json:"key,omitempty"`
	Unknown bool   `json:"unknown,omitempty"`
	// Else is done if the call did not work, and then Fail: "" goes on, "skip"
	// ends the step well, "again", "fresh" and "never" are failures.
	Else  []Op   `json:"else,omitempty"`
	Fail  string `json:"fail,omitempty"`
	After int    `json:"after,omitempty"` // of a failure, seconds
}

// Script is how a receiver answers a request of a step: Rejected always, or not
// applied in the attempts before Until.
type Script struct {
	Tool     string `json:"tool"`
	N        int    `json:"n"`
	Rejected bool   `json:"rejected,omitempty"`
	Until    int    `json:"until,omitempty"`
	After    int    `json:"after,omitempty"` // Retry-After, seconds
}

// Run is a run of a flow, started in a life.
type Run struct {
	Flow int `json:"flow"`
	Life int `json:"life,omitempty"`
}

// Life is that of a process: what goes wrong in it, and how it ends.
type Life struct {
	// ByHand has people resume the runs, instead of the engine's recovery.
	ByHand bool `json:"by_hand,omitempty"`
	// Answers are what becomes of the sends, in their order; the rest is well.
	Answers []Answer `json:"answers,omitempty"`
	// Silent is how many queries get no answer, from the first on.
	Silent int     `json:"silent,omitempty"`
	Faults []Fault `json:"faults,omitempty"`
	End    End     `json:"end"`
	At     Moment  `json:"at"`
	// Down is how long nobody is there afterwards, seconds.
	Down int `json:"down,omitempty"`
}

// End is how a life ends.
type End string

// The ends.
const (
	Cut  End = "cut"  // the power is cut: undurable batches survive or not
	Kill End = "kill" // of the process: what was not written is lost
	Stop End = "stop" // in good order
)

// Answer is what becomes of one send that may change something.
type Answer string

// The answers.
const (
	Well   Answer = ""
	Lost   Answer = "lost"   // not applied, and an answer that settles nothing
	Landed Answer = "landed" // applied, and such an answer
	Hang   Answer = "hang"   // not applied, and no answer
	Stuck  Answer = "stuck"  // applied, and no answer
	Late   Answer = "late"   // applied within the settle time, and an answer that settles nothing
	Tardy  Answer = "tardy"  // applied, and a good answer long after the call's time, for which nobody is told to stop
	Panic  Answer = "panic"  // applied, and the tool panics
	Exit   Answer = "exit"   // applied, and the tool ends its goroutine
)

// Moment is a place at which something comes.
type Moment struct {
	Where string `json:"where"` // one of the places below, or the kind of an event
	N     int    `json:"n"`     // the how-manieth of them, from 1; of seconds, how many
}

// The places that are no events of the engine.
const (
	AtAsked   = "asked"   // a commit begins
	AtWritten = "written" // it is written and not synced
	AtSynced  = "synced"  // it is durable, and nobody was told
	AtArrival = "arrival" // a send has arrived, and changed nothing yet
	AtEffect  = "effect"  // a send has done what it does, and nobody was told
	AtSeconds = "seconds"
)

// Fault is something that goes wrong and that the process outlives.
type Fault struct {
	Kind FaultKind `json:"kind"`
	At   Moment    `json:"at"`
	For  int       `json:"for,omitempty"` // seconds
}

// FaultKind is a kind of fault.
type FaultKind string

// The kinds of faults.
const (
	FailCommit FaultKind = "fail commit" // the store breaks; what was written may be there
	FailRead   FaultKind = "fail read"
	Full       FaultKind = "full"       // for a time
	Unopenable FaultKind = "unopenable" // fail commit, and nothing opens for a time
	Stall      FaultKind = "stall"      // the process stands still in mid-call, and another one takes over
)

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
