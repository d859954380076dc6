package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// workplace is the store of the data directory with an engine on it, in this
// process.
type workplace struct {
	*pawl.Engine
	store kv.Store

	mu       sync.Mutex // guards deployed
	deployed map[string]*pawl.Workflow
}

func (w *workplace) list(_ context.Context, q *pawl.Query) (*pawl.Page, error) { return w.List(q) }

func (w *workplace) checkpoint(_ context.Context, ref string) (*pawl.Checkpoint, error) {
	run, err := w.Lookup(ref)
	if err != nil {
		return nil, err
	}
	return run.Checkpoint()
}

func (w *workplace) deployFolder(ctx context.Context, folder fs.FS) (string, error) {
	workflow, err := w.Deploy(ctx, folder)
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deployed[workflow.Digest()] = workflow
	return workflow.Digest(), nil
}

// workflow is one that this process has deployed.
func (w *workplace) workflow(digest string) (*pawl.Workflow, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if workflow := w.deployed[digest]; workflow != nil {
		return workflow, nil
	}
	return nil, fmt.Errorf("%w: workflow %s was not deployed by this process", pawl.ErrNotFound, digest)
}

func (w *workplace) start(ctx context.Context, o *startOrder) (waitedRun, error) {
	workflow, err := w.workflow(o.Digest)
	if err != nil {
		return nil, err
	}
	run, err := pawl.Start(ctx, workflow, o.ID, o.Input, nil)
	if err != nil {
		return nil, err
	}
	return w.watch(run, o.Longest)
}

func (w *workplace) resume(ctx context.Context, o *resumeOrder) (waitedRun, error) {
	run, err := w.Lookup(o.Run)
	if err != nil {
		return nil, err
	}
	if err := run.Act(ctx, principal(), pawl.Resume{}); err != nil {
		return nil, err
	}
	return w.watch(run, o.Longest)
}

func (w *workplace) upgrade(ctx context.Context, run, digest string) error {
	workflow, err := w.workflow(digest)
	if err != nil {
		return err
	}
	r, err := w.Lookup(run)
	if err != nil {
		return err
	}
	return r.Upgrade(ctx, workflow)
}

// close closes the engine, which leaves every run resumable, and the store. A
// failure becomes the command's error, unless there is one already that says
// more than how a run stands.
func (w *workplace) close(err *error) {
	closing := errors.Join(w.Engine.Close(), w.store.Close())
	if closing != nil && (*err == nil || is[exitStatus](*err)) {
		*err = closing
	}
}

// localRun is a run that this process executes.
type localRun struct {
	w       *workplace
	run     *pawl.Run
	before  *pawl.Checkpoint
	longest time.Duration
}

func (w *workplace) watch(run *pawl.Run, longest time.Duration) (waitedRun, error) {
	before, err := run.Checkpoint()
	if err != nil {
		return nil, err
	}
	return &localRun{w, run, before, longest}, nil
}

func (r *localRun) begun() *pawl.Checkpoint { return r.before }

func (r *localRun) wait(ctx context.Context) (*pawl.Checkpoint, error) {
	return r.run.Wait(ctx, r.longest)
}

// leave stops the engine in good order.
func (r *localRun) leave(stopping func()) (*pawl.Checkpoint, bool, error) {
	if c, err := r.run.Checkpoint(); err == nil && c.State == pawl.StateRunning {
		stopping()
	}
	if err := r.w.Engine.Close(); err != nil {
		return nil, false, err
	}
	c, err := r.run.Checkpoint()
	return c, false, err
}
