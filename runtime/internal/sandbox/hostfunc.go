package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// hostModule adds the three functions of the ABI to a builder.
func hostModule(b wazero.HostModuleBuilder) wazero.HostModuleBuilder {
	const i32, i64 = api.ValueTypeI32, api.ValueTypeI64
	add := func(name string, f hostFunc, params, results []api.ValueType) {
		b.NewFunctionBuilder().WithGoModuleFunction(f, params, results).Export(name)
	}
	// Arguments come with garbage in their upper halves: each is decoded.
	add(abi.FuncCall, func(ctx context.Context, in *instance, module api.Module, stack []uint64) (err error) {
		stack[0], err = in.call(ctx, module.Memory(),
			span{api.DecodeU32(stack[0]), api.DecodeU32(stack[1])},
			span{api.DecodeU32(stack[2]), api.DecodeU32(stack[3])})
		return err
	}, []api.ValueType{i32, i32, i32, i32}, []api.ValueType{i64})
	add(abi.FuncTake, func(_ context.Context, in *instance, module api.Module, stack []uint64) error {
		n, err := in.take(module.Memory(), span{api.DecodeU32(stack[0]), api.DecodeU32(stack[1])})
		stack[0] = api.EncodeI32(n)
		return err
	}, []api.ValueType{i32, i32}, []api.ValueType{i32})
	add(abi.FuncPut, func(_ context.Context, in *instance, module api.Module, stack []uint64) error {
		return in.put(module.Memory(), abi.PutKind(api.DecodeU32(stack[0])), span{api.DecodeU32(stack[1]), api.DecodeU32(stack[2])})
	}, []api.ValueType{i32, i32, i32}, nil)
	return b
}

// lookModule adds what a guest calls whose counter is below zero.
func lookModule(b wazero.HostModuleBuilder) wazero.HostModuleBuilder {
	look := func(ctx context.Context, in *instance, module api.Module, stack []uint64) error {
		granted, err := in.look(ctx, module)
		stack[0] = api.EncodeI64(granted)
		return err
	}
	return b.NewFunctionBuilder().
		WithGoModuleFunction(hostFunc(look), nil, []api.ValueType{api.ValueTypeI64}).Export(workImport)
}

// hostFunc is a host function; its error ends the guest.
type hostFunc func(ctx context.Context, in *instance, module api.Module, stack []uint64) error

// Call implements api.GoModuleFunction.
func (f hostFunc) Call(ctx context.Context, module api.Module, stack []uint64) {
	in := ctx.Value(instanceKey{}).(*instance)
	in.guard(func() error {
		if ctx.Err() != nil { // a guest of few loops would notice late
			return ended(ctx)
		}
		return f(ctx, in, module, stack)
	})
}

// span is a range of the guest's memory as the guest named it.
type span struct{ pointer, length uint32 }

// in returns the range, which aliases the memory, or a trap. A range of no
// bytes too must lie inside; it may lie at the end.
func (s span) in(memory api.Memory, what string) ([]byte, error) {
	b, ok := memory.Read(s.pointer, s.length)
	if !ok {
		return nil, &Trap{TrapBadPointer, fmt.Sprintf("%s: %d bytes at %#x are not inside its memory of %d bytes", what, s.length, s.pointer, memory.Size())}
	}
	return b, nil
}

// call carries out a call of the guest and leaves the result in the slot.
func (in *instance) call(ctx context.Context, memory api.Memory, tool, request span) (uint64, error) {
	r, err := in.request(memory, tool, request)
	if err != nil {
		return 0, err
	}
	reply, err := in.outside(ctx, r)
	if err != nil {
		return 0, err
	}
	if len(reply.Body) > MaxPayload {
		return 0, fmt.Errorf("%w: reply of %s of %d bytes, limit %d", ErrTooLarge, r.Tool, len(reply.Body), MaxPayload)
	}
	if in.pending, err = abi.AppendFrame(nil, reply.Head, reply.Body); err != nil {
		return 0, fmt.Errorf("sandbox: reply of %s: %w", r.Tool, err)
	}
	in.calls++
	in.random.rekey(in.calls)
	in.clock.jump(reply.At)
	return uint64(reply.Status)<<32 | uint64(len(in.pending)), nil
}

// outside lets the caller carry out the call. Meanwhile the guest does not
// execute: it keeps no place, and the time is not that of its work.
func (in *instance) outside(ctx context.Context, r *Request) (*Reply, error) {
	in.work.report()
	in.pass.leave()
	left := time.Now()
	reply, err := in.entry.Call(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := in.pass.enter(ctx); err != nil {
		return nil, err
	}
	in.work.since = in.work.since.Add(in.pass.since.Sub(left))
	return reply, nil
}

// request reads a call out of the guest's memory, which it does not alias.
func (in *instance) request(memory api.Memory, tool, request span) (*Request, error) {
	switch in.phase {
	case initializing:
		return nil, &Trap{TrapCallInitialize, "call was used while the module initialised; call tools only within a step"}
	case describing:
		return nil, &Trap{TrapCallInDescribe, "call was used within " + abi.ExportDescribe + "; call tools only within a step"}
	}
	name, err := tool.in(memory, "call: tool name")
	if err != nil {
		return nil, err
	}
	view, err := request.in(memory, "call: request")
	if err != nil {
		return nil, err
	}
	r := &Request{Tool: string(name[:min(len(name), 100)])}
	if !abi.ValidToolName(r.Tool) {
		return nil, &Trap{TrapBadToolName, fmt.Sprintf("call: %q is not a tool name ([a-z0-9_.-], at most 64)", r.Tool)}
	}
	if len(view) > maxFrame {
		return nil, tooLarge("call: request", len(view), maxFrame)
	}
	in.work.pay(len(view))
	if r.Body, err = abi.SplitFrame(slices.Clone(view), &r.Head); err != nil {
		return nil, &Trap{TrapBadFrame, "call: request: " + err.Error()}
	}
	if r.Head.Type != abi.TypeJSON && r.Head.Type != abi.TypeBytes {
		return nil, &Trap{TrapBadFrame, fmt.Sprintf("call: request: the type is %.40q, neither %q nor %q", r.Head.Type, abi.TypeJSON, abi.TypeBytes)}
	}
	if len(r.Body) > MaxPayload {
		return nil, tooLarge("call: body of the request", len(r.Body), MaxPayload)
	}
	return r, nil
}

func tooLarge(what string, size, limit int) error {
	return &Trap{TrapTooLarge, fmt.Sprintf("%s of %d bytes, limit %d", what, size, limit)}
}

// take copies the slot into the guest's memory and leaves it; if the room is
// too small it copies nothing and says how much is needed, as a negative
// number. The slot is empty while the module initialises.
func (in *instance) take(memory api.Memory, room span) (int32, error) {
	dst, err := room.in(memory, "take")
	if err != nil {
		return 0, err
	}
	slot := in.pending
	if in.phase == initializing {
		slot = nil
	}
	if len(slot) > len(dst) {
		return -int32(len(slot)), nil
	}
	copy(dst, slot)
	in.work.pay(len(slot))
	return int32(len(slot)), nil
}

var putLevels = map[abi.PutKind]slog.Level{
	abi.PutDebug: slog.LevelDebug,
	abi.PutInfo:  slog.LevelInfo,
	abi.PutWarn:  slog.LevelWarn,
	abi.PutError: slog.LevelError,
}

// put takes over what the guest hands out.
func (in *instance) put(memory api.Memory, kind abi.PutKind, data span) error {
	view, err := data.in(memory, "put")
	if err != nil {
		return err
	}
	in.work.pay(len(view))
	level, isLog := putLevels[kind]
	switch {
	case isLog:
		in.log.put(level, view)
		return nil
	case kind != abi.PutOutput && kind != abi.PutFailure:
		return &Trap{TrapBadKind, fmt.Sprintf("put: there is no kind %d", kind)}
	case in.phase == initializing:
		return &Trap{TrapPutInitialize, "put: an output or a failure while the module initialised"}
	case kind == abi.PutOutput:
		return in.putOutput(view)
	}
	return in.putFailure(view)
}

func (in *instance) putOutput(view []byte) error {
	switch {
	case in.output != nil:
		return &Trap{TrapSecondOutput, "put: a second output; a step has one"}
	case in.failure != nil:
		return &Trap{TrapOutputAndFailure, "put: an output after a failure; a step ends with one of them"}
	case len(view) > MaxPayload:
		return tooLarge("put: output", len(view), MaxPayload)
	case !json.Valid(view):
		return &Trap{TrapBadOutput, "put: the output is not JSON"}
	}
	in.output = slices.Clone(view)
	return nil
}

func (in *instance) putFailure(view []byte) error {
	switch {
	case in.failure != nil:
		return &Trap{TrapSecondFailure, "put: a second failure; a step has one"}
	case in.output != nil:
		return &Trap{TrapOutputAndFailure, "put: a failure after an output; a step ends with one of them"}
	case len(view) > MaxFailure:
		return tooLarge("put: failure", len(view), MaxFailure)
	}
	f := &abi.Failure{}
	if err := json.Unmarshal(view, f); err != nil {
		return &Trap{TrapBadFailure, fmt.Sprintf("put: the failure cannot be read: %v", err)}
	}
	switch {
	case !abi.ValidCode(f.Code):
		return &Trap{TrapBadFailure, fmt.Sprintf("put: the failure's code %.80q is not [a-z0-9_], at most 64", f.Code)}
	case f.Retry != "" && f.Retry != abi.Again && f.Retry != abi.Fresh && f.Retry != abi.Never:
		return &Trap{TrapBadFailure, fmt.Sprintf("put: the failure's retry is %.40q, not again, fresh or never", f.Retry)}
	case f.AfterMS < 0:
		return &Trap{TrapBadFailure, "put: the failure's after_ms is negative"}
	}
	in.failure = f
	return nil
}
