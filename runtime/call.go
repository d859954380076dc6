package runtime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// call answers one host call of the guest: the one path by which anything
// leaves a step. The journal answers first; what it does not know goes through
// grant, budget and the effect protocol.
func (a *attempt) call(ctx context.Context, r *sandbox.Request) (*sandbox.Reply, error) {
	index := a.calls
	a.calls++
	if limit := a.step.Limits.Calls; limit > 0 && index-limit >= patienceWithRefusals {
		return nil, &sandbox.Trap{Code: sandbox.TrapCallLimit, Message: fmt.Sprintf(
			"it called %d times more than its limit of %d calls (limits.calls), and was refused each time", patienceWithRefusals, limit)}
	}
	tool, id := a.granted(r.Tool)
	hash, hashErr := requestHash(id, r)
	known, err := a.known(index, r.Tool, id, hash)
	if err != nil {
		return nil, err
	}
	if known.claim != nil {
		if err := a.run.Claim(a.index, a.number, index, known.claim); err != nil {
			return nil, err
		}
	}
	if known.answer != nil {
		return a.reply(ctx, known.answer)
	}
	if ctx.Err() != nil || a.body.era.stopping.Err() != nil {
		return nil, errStopped
	}
	c := &host.Call{
		Tool: id, Run: a.run.ID(), Step: a.step.Name, Attempt: a.number, Index: index, Type: r.Head.Type, Body: r.Body,
		Hash: hash, Key: a.key(r, tool, id, hash, &known), SeeUnknown: r.Head.Unknown,
	}
	if known.past.Tries == 0 {
		a.body.emit(Event{Kind: BeforeIntent, Call: index, Tool: r.Tool, Use: a.use(r.Tool), Key: c.Key})
		if status, code, why := a.refuse(r, tool, c, hashErr); status != abi.OK {
			return a.refused(r, c, status, code, why)
		}
	} else if tool == nil {
		return nil, fmt.Errorf("tool %s of an open call is not registered", id) // pins are checked before
	}
	if t, ok := tool.(insideTool); ok {
		reply, err := a.inside(ctx, r, t, c, known.occurrence)
		return reply, tooLate(err)
	}
	return a.reach(ctx, r, tool, c, &known)
}

// reach takes a call to its receiver, once nothing stands against that: a pause
// of the tool, or another call with its business key.
func (a *attempt) reach(ctx context.Context, r *sandbox.Request, tool host.Tool, c *host.Call, known *knowledge) (reply *sandbox.Reply, err error) {
	contract := tool.Contract().WithDefaults()
	ledger := a.run.Ledger(a.index, r.Tool, c, contract, known.occurrence)
	u, reply, err := a.business(ctx, r, contract.Effect, c, known)
	if reply != nil || err != nil {
		return reply, err
	}
	if u != nil {
		ledger.Hold(u.hold)
		defer func() { u.release(ledger.Settled()) }()
	}
	if known.past.Tries == 0 {
		if _, c.Shown, err = host.Show(tool, c); err != nil {
			return a.refused(r, c, abi.Invalid, codeInvalid, err.Error())
		}
	}
	if err := a.pass(r.Tool, c); err != nil {
		return nil, err
	}
	if u != nil {
		a.body.engine.keys.send(string(u.hold.Name))
	}
	reply, err = a.carry(ctx, r, tool, contract, ledger, c, known.past)
	if u != nil {
		err = tooLate(err)
	}
	return reply, err
}

// carry takes the call through the effect protocol.
func (a *attempt) carry(ctx context.Context, r *sandbox.Request, tool host.Tool, contract host.Contract, ledger *journal.CallLedger, c *host.Call, past host.Past) (*sandbox.Reply, error) {
	c.Sent = func() {
		if contract.Kind == kindHTTP {
			a.body.survive()
		}
		a.run.Emit(ledger.SentEvent())
	}
	// What is in flight when the engine stops may finish within the grace, so
	// that a stop in good order leaves nothing unknown.
	c.Cut = a.body.cut.Done()
	c.Sends, c.Patience = &a.body.engine.sends, patience
	receipt, err := host.Do(ctx, tool, ownedLedger{ledger, a.body, contract.Timeout}, c, past)
	var waits *host.WaitError
	if errors.As(err, &waits) {
		return nil, a.leave(r.Tool, contract, c, waits)
	}
	if err != nil {
		return nil, err
	}
	a.learn(c.Tool, receipt)
	a.body.survive()
	return answer(receipt.Status, receipt.Response.Body, receipt.At, abi.ResultHead{
		Type: receipt.Response.Type, Status: receipt.Response.Status, Code: receipt.Code, Message: receipt.Message, AfterMS: receipt.After.Milliseconds(),
	}), nil
}

// answer is what the guest is given, now and in every replay. A response that
// no guest can take is left out: the effect happened all the same.
func answer(status abi.Status, body []byte, at time.Time, head abi.ResultHead) *sandbox.Reply {
	head.Retryable = status.Retryable()
	if len(body) > sandbox.MaxPayload {
		head.Code = "response_too_large"
		head.Message = fmt.Sprintf("the response has %d bytes; a step takes at most %d", len(body), sandbox.MaxPayload)
		body = nil
	}
	return &sandbox.Reply{Status: status, Body: body, At: journal.Recorded(at), Head: head}
}

// knowledge is what the journal knows of a call.
type knowledge struct {
	answer     *journal.Receipt // the guest was, or would have been, given this
	claim      *journal.Call    // an earlier attempt's, whose answer that is
	past       host.Past        // begun and not settled
	key        host.Key         // of a begun call
	occurrence uint32           // equal calls before it in the step
}

// known looks the call up in the journal. The i-th call must be the i-th
// record's: tool and request hash. Behind the last record it may be one that an
// earlier attempt made.
func (a *attempt) known(index int, grant, id string, hash host.Hash) (k knowledge, err error) {
	k.occurrence = a.occurrence(id, hash)
	a.run.Read(func(s *journal.State) {
		st := s.Steps[a.index]
		if index >= len(st.Calls) {
			err = a.unclaimed(&k, index, st, st.Match(id, hash, k.occurrence))
			return
		}
		c := st.Calls[index]
		switch {
		case c.Tool != id || c.Hash != hash:
			err = &divergedError{
				call:     index,
				expected: fmt.Sprintf("%s with request %s", c.Tool, c.Hash),
				got:      fmt.Sprintf("%s with request %s", id, hash),
			}
		case c.Receipt == nil:
			k.key = c.Key
			k.past = host.Past{Tries: c.Tries, First: c.First, Last: c.Last, Receiver: c.Receiver, Waited: c.Waited.Host()}
		case !c.Again(a.number):
			k.answer = c.Receipt
		default:
			k.past = host.Past{First: c.First}
		}
	})
	return k, err
}

// occurrence counts a call of the guest, and returns how many equal ones came
// before it. It keeps count: a replay that counted along the journal at each call
// would take the square of its length.
func (a *attempt) occurrence(tool string, hash host.Hash) uint32 {
	if a.made == nil {
		a.made = map[request]uint32{}
	}
	n := a.made[request{tool, hash}]
	a.made[request{tool, hash}] = n + 1
	return n
}

// unclaimed decides what becomes of a call that an earlier attempt made, if
// there is one.
func (a *attempt) unclaimed(k *knowledge, index int, st *journal.Step, c *journal.Call) error {
	if c == nil {
		return nil
	}
	if !st.Takes(c, a.number) {
		k.past = host.Past{First: c.First}
		return nil
	}
	if later := st.Overtaken(c); later != nil && c.Stands() {
		return &divergedError{call: index, disorder: fmt.Sprintf(
			"is %s (key %s) of an earlier attempt, which came before %s (key %s), and this attempt has made that one before it",
			c.Grant, c.Key, later.Grant, later.Key)}
	}
	k.claim, k.answer = c, c.Receipt
	return nil
}

// reply gives the guest a recorded answer.
func (a *attempt) reply(ctx context.Context, r *journal.Receipt) (*sandbox.Reply, error) {
	body, err := a.run.Body(ctx, &r.Response)
	if err != nil {
		return nil, err
	}
	return answer(abi.Status(r.Status), body, time.UnixMicro(r.At).UTC(), abi.ResultHead{
		Type: r.Type, Status: r.Answer, Code: r.Code, Message: r.Message, AfterMS: r.After,
	}), nil
}

// granted returns the tool that the step means by name, and its id. Without a
// grant, or without such a tool, the tool is nil.
func (a *attempt) granted(name string) (host.Tool, string) {
	for _, g := range a.step.Tools {
		if g.Name == name {
			tool, _ := a.body.engine.tool(g.Use)
			return tool, g.Use
		}
	}
	return nil, name
}

// use is the operator's id of the tool that the step means by name; empty
// without a grant.
func (a *attempt) use(name string) string {
	for _, g := range a.step.Tools {
		if g.Name == name {
			return g.Use
		}
	}
	return ""
}

// key is the call's idempotency key. An open call has the one it was sent with.
func (a *attempt) key(r *sandbox.Request, tool host.Tool, id string, hash host.Hash, known *knowledge) host.Key {
	if known.past.Tries > 0 {
		return known.key
	}
	store := a.body.engine.book.ID()
	if tool != nil && shared(r, tool.Contract().WithDefaults().Effect) {
		return host.NewBusinessKey(store, id, r.Head.Key, 0)
	}
	var root string
	a.run.Read(func(s *journal.State) { root = s.Start.Root })
	return host.NewKey(host.KeyInput{
		Store: store, Root: root, Scope: host.Scope{Lineage: a.step.Name},
		Tool: id, Request: hash, Occurrence: known.occurrence,
	})
}

// requestHash is the hash of a request, also of one that is not what it says it
// is: a replay still has to know it again.
func requestHash(id string, r *sandbox.Request) (host.Hash, error) {
	hash, err := host.RequestHash(id, r.Head.Type, r.Head.Key, r.Head.Unknown, r.Body)
	if err != nil {
		hash, _ = host.RequestHash(id, abi.TypeBytes, r.Head.Key, r.Head.Unknown, r.Body)
	}
	return hash, err
}

// Codes of refusals.
const (
	codeDenied      = "denied"
	codeInvalid     = "invalid_request"
	codeStepCalls   = "step_calls"
	codeKeyConflict = "key_conflict" // its business key stands for another request
)

// refuse says why a call cannot become an intent.
func (a *attempt) refuse(r *sandbox.Request, tool host.Tool, c *host.Call, hashErr error) (status abi.Status, code, why string) {
	switch {
	case tool == nil:
		return abi.Denied, codeDenied, fmt.Sprintf("step %s has no grant for %s; add it to its tools in workflow.toml", a.step.Name, r.Tool)
	case a.step.Limits.Calls > 0 && c.Index >= a.step.Limits.Calls:
		return abi.Budget, codeStepCalls, fmt.Sprintf("step %s may make %d calls (limits.calls)", a.step.Name, a.step.Limits.Calls)
	case hashErr != nil:
		return abi.Invalid, codeInvalid, hashErr.Error()
	}
	if _, inside := tool.(insideTool); inside && r.Head.Key != "" {
		return abi.Invalid, codeInvalid, r.Tool + " is a tool of the store and takes no business key; leave steps.Key out"
	}
	if err := host.Check(tool, c); err != nil {
		return abi.Invalid, codeInvalid, err.Error()
	}
	return abi.OK, "", ""
}

// patienceWithRefusals is how many calls beyond its own limit a step is refused
// before it is ended: each refusal is recorded.
const patienceWithRefusals = 1000

// longestRefusal bounds the text of a refusal in bytes: a request may name
// anything.
const longestRefusal = 2 << 10

// refused records the refusal and tells the guest.
func (a *attempt) refused(r *sandbox.Request, c *host.Call, status abi.Status, code, why string) (*sandbox.Reply, error) {
	why = strings.ToValidUTF8(why, "?") // as it is recorded
	if len(why) > longestRefusal {
		why = strings.ToValidUTF8(why[:longestRefusal], "") + " ..."
	}
	at, err := a.run.Refuse(a.index, a.number, c.Index, r.Tool, c.Tool, c.Hash, status, code, why)
	if err != nil {
		return nil, err
	}
	a.body.emit(Event{Kind: Refused, Call: c.Index, Tool: r.Tool, Use: a.use(r.Tool), Key: c.Key, Status: status, Code: code, Message: why})
	return &sandbox.Reply{Status: status, At: at, Head: abi.ResultHead{Code: code, Message: why}}, nil
}
