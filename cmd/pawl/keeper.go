package main

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// keeper has the runs of a data directory: this process, or the server that has
// the directory open. What a command says does not depend on which it is, but
// for what only one of them does.
type keeper interface {
	// list is a page of the runs that q selects.
	list(ctx context.Context, q *pawl.Query) (*pawl.Page, error)
	// checkpoint is how the run stands that ref names.
	checkpoint(ctx context.Context, ref string) (*pawl.Checkpoint, error)
	// deployFolder stores the workflow of a folder and returns its digest.
	deployFolder(ctx context.Context, folder fs.FS) (digest string, err error)
	// start begins a run, or goes on with the one that has its id.
	start(ctx context.Context, o *startOrder) (waitedRun, error)
	// resume goes on with a run that rests.
	resume(ctx context.Context, o *resumeOrder) (waitedRun, error)
	// upgrade moves a run that rests to a workflow that was deployed.
	upgrade(ctx context.Context, run, digest string) error
	// close gives back what the command has used. A failure becomes its error.
	close(err *error)
}

// startOrder is what start is asked for. Its JSON form crosses the socket.
type startOrder struct {
	Digest string          `json:"digest"` // of a workflow that was deployed
	ID     string          `json:"id"`
	Input  json.RawMessage `json:"input"`
	// Longest is for how long the run may wait for a timer without resting.
	Longest time.Duration `json:"longest"`
}

// resumeOrder is what resume is asked for.
type resumeOrder struct {
	Run     string        `json:"run"`
	Longest time.Duration `json:"longest"`
}

// waitedRun is a run that a command waits for.
type waitedRun interface {
	// begun is how the run stood when the wait began.
	begun() *pawl.Checkpoint
	// wait waits until the run rests; when ctx ends, no longer.
	wait(ctx context.Context) (*pawl.Checkpoint, error)
	// leave ends the wait after ctx has ended and returns how the run stands.
	// goesOn says that it is executed all the same. stopping is called first if
	// it may take a moment.
	leave(stopping func()) (c *pawl.Checkpoint, goesOn bool, err error)
}

// principal is who acts through this program: whoever can open the data
// directory, or its socket.
func principal() pawl.Principal {
	name := "uid " + strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return pawl.Principal{Name: name, Roles: []string{"operator"}}
}
