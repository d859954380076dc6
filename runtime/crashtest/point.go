package crashtest

import (
	"fmt"

	"github.com/pawl-dev/pawl/host"
)

// Point is a place around a call or a step at which a process is killed.
type Point string

// The points.
const (
	// H0 is before the intent; everything before it is durable.
	H0 Point = "H0"
	// H1 is with a durable intent and nothing sent. A read that charges nothing
	// has none, since nobody waits for its intent.
	H1 Point = "H1"
	// H2 is sent and not applied.
	H2 Point = "H2"
	// H3 is applied, with the answer on its way.
	H3 Point = "H3"
	// H4 is with the answer in memory and no receipt.
	H4 Point = "H4"
	// H5 is with a durable receipt and nothing later.
	H5 Point = "H5"
	// H6 is with a durable checkpoint, which holds the next step's begun
	// attempt, and that step not entered.
	H6 Point = "H6"
	// Retry is with the answer to a try in memory that another try follows.
	Retry Point = "retry"
	// Wait is with a call that has left its memory to wait, durably: its receiver
	// asked for time.
	Wait Point = "wait"
	// Park is with an attempt that has failed, durably, and the next one due later.
	Park Point = "park"
	// Begin is with a further attempt durably begun and its guest not entered.
	Begin Point = "begin"
	// BeforeWrite is right before the last write of a step leaves: like H1, but
	// inside the tool.
	BeforeWrite Point = "E-"
	// AfterWrite is when the last write of a step is applied and answered: H4
	// of it.
	AfterWrite Point = "E+"
)

// boundary is a point of one call or step of one run.
type boundary struct {
	Name    string `json:"name"`
	Point   Point  `json:"point"`
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
	Call    int    `json:"call"` // index in the step; -1 for a step's own point
	Tool    string `json:"tool,omitempty"`
	// Next is the step that Step's checkpoint begins, for H6; empty at the end.
	Next string `json:"next,omitempty"`
	// Unawaited says that the engine does not wait for the call's intent, so
	// the child does, where the point needs it.
	Unawaited bool `json:"unawaited,omitempty"`
	// Silent says that the tool does not announce its sending.
	Silent bool `json:"silent,omitempty"`
	// Stored says that the call is one of the store itself: what it does is
	// durable together with its receipt, or not at all, and nothing leaves.
	Stored bool `json:"stored,omitempty"`
	// Try counts the sendings of the call, from 1; 0 where there is none yet.
	Try int `json:"try,omitempty"`
	// Waits counts the waits of the call, from 1, for Wait.
	Waits int `json:"waits,omitempty"`

	contract host.Contract // of the call's tool
	earlier  int           // calls of the same tool in the run before this one
	charged  int64         // calls of the run that are charged here
	mode     Mode          // of a row without a kill
	// loose says that the clean call was answered without an effect. A receiver
	// that is asked again may be further on, and the run need not fail where the
	// clean one did: it may spend less and go another way. And since such an answer
	// settles nothing, a call that cannot be asked about may wait for a person.
	loose bool
}

// name says where a boundary is, as people read it.
func (b *boundary) name() string {
	name := fmt.Sprintf("%s %s", b.Point, b.Step)
	if b.Call >= 0 {
		name = fmt.Sprintf("%s/%d %s", name, b.Call, b.Tool)
	}
	if b.Attempt > 1 || b.Point == Park {
		name += fmt.Sprintf(" attempt %d", b.Attempt)
	}
	if b.Try > 1 || b.Point == Retry {
		name += fmt.Sprintf(" try %d", b.Try)
	}
	return name
}

// inside is the step that a run resumes from when it was killed here.
func (b *boundary) inside() string {
	if b.Point == H6 {
		return b.Next
	}
	return b.Step
}

// parked reports whether nothing of the run is under way at the point.
func (b *boundary) parked() bool { return b.Point == Park || b.Point == Wait }

// requests is how many requests of the tool the receivers have seen when the
// process dies here.
func (b *boundary) requests() int {
	switch b.Point {
	case H0, H1, BeforeWrite:
		return b.earlier
	}
	return b.earlier + 1
}

// wrote reports whether reaching the point took a durable record more than the
// point before it in the run.
func (b *boundary) wrote(before *boundary) bool {
	switch b.Point {
	case H1, H5, H6, Park, Begin, Wait:
		return true
	case Retry:
		return false
	}
	return b.Point != H0 && before.Point == H0
}
