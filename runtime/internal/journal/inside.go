package journal

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/kv"
)

// InsideCall is a call of a tool that is part of the store.
type InsideCall struct {
	Step       int
	Grant      string
	Call       *host.Call
	Contract   host.Contract
	Occurrence uint32
	// Key is where the value is: see [RunValueKey] and [WorkflowValueKey].
	Key []byte
	// Apply decides what comes of the call when the value is as given. The
	// value cannot change before that is recorded.
	Apply func(value []byte, found bool) InsideResult
}

// InsideResult is what comes of an [InsideCall].
type InsideResult struct {
	Change InsideChange
	Value  []byte // for SetValue
	// Rejected is the code of a call that changes nothing and is refused for
	// good; empty for one that is applied.
	Rejected, Message string
	Response          []byte // JSON
}

// InsideChange is what a call does to a value.
type InsideChange int

// The changes.
const (
	KeepValue InsideChange = iota
	SetValue
	DeleteValue
)

// RunValueKey is where a run keeps a value.
func RunValueKey(run, key string) []byte { return join(prefixValue, "r/", run, "/", key) }

// WorkflowValueKey is where the runs of a workflow's name keep a value.
func WorkflowValueKey(name, key string) []byte { return join(prefixValue, "w/", name, "/", key) }

// Inside records intent and receipt of a call, and the change that it makes, in
// one batch: it happened exactly once or not at all. A change is durable when
// Inside returns, and so is visible to the next call of every run.
func (r *Run) Inside(ctx context.Context, c *InsideCall) (*Receipt, error) {
	// Users of one value take turns until their change is durable, since only
	// what is durable can be read. So a requirement fails only where another
	// process shares the store.
	if c.Contract.Effect != host.Read {
		defer r.book.values.lock(string(c.Key))()
	}
	value, found, err := r.book.value(c.Key)
	if err != nil {
		return nil, err
	}
	result := c.Apply(value, found)
	with := new(kv.Batch)
	if result.Change != KeepValue {
		if found {
			with.Require(c.Key, value)
		} else {
			with.RequireAbsent(c.Key)
		}
	}
	switch result.Change {
	case SetValue:
		with.Set(c.Key, result.Value)
	case DeleteValue:
		with.Delete(c.Key)
	}
	wait, receipt, err := r.appendInside(c, &result, with)
	if err != nil || result.Change == KeepValue {
		return receipt, err
	}
	return receipt, wait.Wait(context.WithoutCancel(ctx))
}

func (r *Run) appendInside(c *InsideCall, result *InsideResult, with *kv.Batch) (*barrier, *Receipt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.state.allowCall(nil, time.Now()); err != nil {
		return nil, nil, err
	}
	request, err := r.chain.Put(c.Call.Body)
	if err != nil {
		return nil, nil, err
	}
	response, err := r.chain.Put(result.Response)
	if err != nil {
		return nil, nil, err
	}
	l := &CallLedger{run: r, step: c.Step, grant: c.Grant, call: c.Call, contract: c.Contract, began: time.Now()}
	receipt := &Receipt{
		Step: c.Step, Attempt: c.Call.Attempt, Call: c.Call.Index, Outcome: uint8(host.OutcomeApplied),
		Status: uint32(abi.OK), Type: abi.TypeJSON, Response: response, At: micros(time.Now()),
	}
	if result.Rejected != "" {
		receipt.Outcome, receipt.Status = uint8(host.OutcomeRejected), uint32(abi.Rejected)
		receipt.Code, receipt.Message = result.Rejected, result.Message
	}
	durable := l.event(ReceiptDurable)
	durable.Outcome, durable.Status = host.Outcome(receipt.Outcome), abi.Status(receipt.Status)
	durable.Code, durable.Message = receipt.Code, receipt.Message
	wait, err := r.append(with, []Event{l.event(IntentDurable), durable}, Record{Intent: &Intent{
		Step: c.Step, Attempt: c.Call.Attempt, Call: c.Call.Index, Grant: c.Grant, Tool: c.Call.Tool,
		Class: uint8(c.Contract.Effect), Key: c.Call.Key[:], KeyVersion: host.KeyVersion, Hash: c.Call.Hash[:],
		Type: c.Call.Type, Request: request, Occurrence: c.Occurrence,
	}}, Record{Receipt: receipt})
	return wait, receipt, err
}

// value reads a value that steps keep.
func (b *Book) value(key []byte) (value []byte, found bool, err error) {
	err = b.view(func(v kv.View) (err error) {
		value, err = v.Get(key)
		return err
	})
	if errors.Is(err, kv.ErrNotFound) {
		return nil, false, nil
	}
	return value, err == nil, err
}

// turns gives each name to one at a time. The zero value is ready.
type turns struct {
	mu    sync.Mutex // guards taken
	taken map[string]*turn
}

type turn struct {
	mu    sync.Mutex
	users int // those who have it or wait for it; guarded by turns.mu
}

// lock waits for the name and returns what gives it back.
func (t *turns) lock(name string) (unlock func()) {
	t.mu.Lock()
	if t.taken == nil {
		t.taken = map[string]*turn{}
	}
	one := t.taken[name]
	if one == nil {
		one = new(turn)
		t.taken[name] = one
	}
	one.users++
	t.mu.Unlock()
	one.mu.Lock()
	return func() {
		one.mu.Unlock()
		t.mu.Lock()
		defer t.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(t.taken, name)
		}
	}
}
