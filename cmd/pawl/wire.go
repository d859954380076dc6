package main

import (
	"errors"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// What crosses the socket between a server and the commands. Both are this
// program, perhaps in two versions: protocol rises with every change of a shape,
// and only hello keeps its own for ever.
const protocol = 1

// Paths of the socket, beside those of the panel and the API. The TCP listener
// has none of them.
const (
	pathHello   = "/cli/hello"
	pathList    = "/cli/list"
	pathRun     = "/cli/run"
	pathDeploy  = "/cli/deploy"
	pathUpgrade = "/cli/upgrade"
	pathStart   = "/cli/start"
	pathResume  = "/cli/resume"
)

// hello is how a server says who it is.
type hello struct {
	Protocol int         `json:"protocol"`
	PID      int         `json:"pid"`
	Data     string      `json:"data"` // the data directory, as an absolute path
	Version  versionInfo `json:"version"`
}

// deployedAnswer is the answer to a folder.
type deployedAnswer struct {
	Digest string `json:"digest"`
}

// upgradeOrder asks for moving a run to a workflow that was deployed.
type upgradeOrder struct {
	Run    string `json:"run"`
	Digest string `json:"digest"`
}

// wireLine is a line of the stream about a run that is waited for: begun first,
// then events, then rested or an error or both. It has one field otherwise.
type wireLine struct {
	Begun  *pawl.Checkpoint `json:"begun,omitempty"`
	Event  *wireEvent       `json:"event,omitempty"`
	Rested *pawl.Checkpoint `json:"rested,omitempty"`
	Error  *toldError       `json:"error,omitempty"`
}

// wireEvent is an event with all that is in it: outcomes have words, which are
// only written.
type wireEvent struct {
	pawl.Event
	Outcome uint8
}

func onWire(e pawl.Event) *wireEvent { return &wireEvent{e, uint8(e.Outcome)} }

func (w *wireEvent) event() pawl.Event {
	e := w.Event
	e.Outcome = host.Outcome(w.Outcome)
	return e
}

// toldError is an error that the server told: it matches what the error there
// matched, and is told to people in the same words.
type toldError struct {
	problem
	Exit         int                     `json:"exit"`
	Text         string                  `json:"text"`
	Matches      string                  `json:"matches,omitempty"` // the code of the engine's error
	Step         *toldStep               `json:"step,omitempty"`
	Incompatible *pawl.IncompatibleError `json:"incompatible,omitempty"`
	Workflow     string                  `json:"workflow,omitempty"` // of an input that does not fit
}

// toldStep is where a run stands that does not go on.
type toldStep struct {
	Run     string `json:"run"`
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
	Hint    string `json:"hint"`
}

// tell makes an error ready to cross the socket.
func tell(err error) *toldError {
	if err == nil {
		return nil
	}
	p := problemOf(err)
	t := &toldError{problem: *p, Exit: p.Status, Text: err.Error(), Matches: pawl.CodeOf(err)}
	var step *pawl.StepError
	if errors.As(err, &step) {
		t.Step = &toldStep{step.Run, step.Step, step.Attempt, step.Hint}
	}
	var input *pawl.InputError
	if errors.As(err, &input) {
		t.Workflow = input.Workflow
	}
	errors.As(err, &t.Incompatible)
	return t
}

// Error is the error's text there.
func (t *toldError) Error() string { return t.Text }

// Is reports whether the error there matched an error of the engine.
func (t *toldError) Is(target error) bool {
	return t.Matches != "" && t.Matches == pawl.CodeOf(target)
}

// Unwrap returns what the error there was, as far as commands look at it.
func (t *toldError) Unwrap() (as []error) {
	if t.Step != nil {
		as = append(as, &pawl.StepError{Run: t.Step.Run, Step: t.Step.Step, Attempt: t.Step.Attempt, Err: errors.New(t.Text), Hint: t.Step.Hint})
	}
	if t.Incompatible != nil {
		as = append(as, t.Incompatible)
	}
	if t.Workflow != "" {
		as = append(as, &pawl.InputError{Workflow: t.Workflow, Err: errors.New(t.Text)})
	}
	return as
}

// asProblem is what people are told: what the server would have told them.
func (t *toldError) asProblem() *problem {
	p := t.problem
	p.Status = t.Exit
	return &p
}
