package crashtest

import (
	"encoding/json"

	pawl "github.com/pawl-dev/pawl/runtime"

	"github.com/pawl-dev/pawl/host"
)

// What a child is told to do.
const (
	doClean  = "clean"  // run to the end and tell everything
	doCrash  = "crash"  // run to a boundary and stand still there
	doFault  = "fault"  // run to the end, with a call that the parent is told of first
	doShow   = "show"   // read the checkpoint document
	doResume = "resume" // go on with the run to its end
)

// externalID is the external id of every run; each has a store of its own.
const externalID = "crashtest"

// order is the first line that a child is given. Its input stays open after it:
// when that ends, the parent is gone.
type order struct {
	Do       string          `json:"do"`
	Store    string          `json:"store"`
	Workflow string          `json:"workflow,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	Root     string          `json:"root,omitempty"` // key root of the run
	At       *boundary       `json:"at,omitempty"`
}

// What a child says.
const (
	sayArmed   = "armed"   // before the call that is to be held; goes on when told to
	sayReached = "reached" // at the boundary, for ever
	sayDone    = "done"
)

// message is one line of a child.
type message struct {
	Say   string `json:"say"`
	Error string `json:"error,omitempty"`
	// Checkpoint is the run's document at the end.
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"`
	// Seen and Contracts are what a clean run went through, and the contracts of
	// the tools that it called, by the operator's id.
	Seen      []seen                   `json:"seen,omitempty"`
	Contracts map[string]host.Contract `json:"contracts,omitempty"`
	// Check is what is wrong with the store.
	Check string `json:"check,omitempty"`
}

// seen is an event of a clean run.
type seen struct {
	Kind    pawl.EventKind `json:"kind"`
	Step    string         `json:"step,omitempty"`
	Attempt int            `json:"attempt,omitempty"`
	Call    int            `json:"call"`
	Tool    string         `json:"tool,omitempty"`
	Use     string         `json:"use,omitempty"`
	Try     int            `json:"try,omitempty"`
	Applied bool           `json:"applied,omitempty"` // of Answered
}

// id is the operator's id of the tool that the call reached.
func (s seen) id() string {
	if s.Use != "" {
		return s.Use
	}
	return s.Tool
}
