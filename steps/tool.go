package steps

import (
	"fmt"

	"github.com/pawl-dev/pawl/host/abi"
)

// Tool is something that a step may call, with the Go types of its request and
// response. Make it with [NewTool]; it may be used concurrently.
type Tool[Req, Res any] struct{ id string }

// NewTool names a tool, [a-z0-9_.-]{1,64}. It belongs into a package variable,
// so that the module's description lists it. The workflow must grant the tool
// to the step that calls it. It panics if the name is not allowed.
//
// Requests are written as JSON, responses read from it. A Req of exactly []byte
// is sent as it is; a Res of exactly []byte gets the response as it came, and
// one of exactly [Response] also what else there is to say of it.
func NewTool[Req, Res any](id string) Tool[Req, Res] {
	registerTool(id)
	return Tool[Req, Res]{id: id}
}

// ID returns the name of the tool as the step calls it.
func (t Tool[Req, Res]) ID() string { return t.id }

// CallOption is something about one call: see [Key] and [SeeUnknown].
type CallOption func(*abi.CallHead)

// Key gives the call a business key: over all runs, the effect of this tool
// under this key happens once. A second call with it, of whatever run, waits for
// the first and gets its response; with another request it is [ErrInvalid].
// Without a key the call is one effect of this run, and an equal second call
// another. A key on a read is only part of its request.
func Key(key string) CallOption {
	return func(h *abi.CallHead) { h.Key = key }
}

// SeeUnknown lets the step see an unknown outcome as [ErrUnknown]. Without it
// the step is not told: the run asks the receiver, or waits for a person, and
// the call returns when it is known what happened.
func SeeUnknown() CallOption {
	return func(h *abi.CallHead) { h.Unknown = true }
}

// Call makes one call and waits for what came of it. An error is a [*CallError]
// when the tool did not do it; returned from the step as it is (or wrapped), it
// lets the next attempt make the call again if that can help. A response without
// content is the zero Res.
func (t Tool[Req, Res]) Call(s *Step, req Req, opts ...CallOption) (Res, error) {
	var res Res
	head := abi.CallHead{Type: abi.TypeJSON}
	for _, opt := range opts {
		opt(&head)
	}
	body, isBytes := any(req).([]byte)
	if isBytes {
		head.Type = abi.TypeBytes
	} else {
		var err error
		if body, err = encode(req); err != nil {
			return res, &CallError{
				Tool: t.id, Status: abi.Invalid, Code: "bad_request",
				Message: fmt.Sprintf("%T cannot be written as JSON: %v", req, err),
			}
		}
	}
	r, err := s.out.call(t.id, head, body)
	if err != nil {
		return res, err
	}
	if r.status != abi.OK {
		return res, newCallError(t.id, r)
	}
	return read[Res](t.id, r)
}

func read[Res any](tool string, r *result) (res Res, err error) {
	switch into := any(&res).(type) {
	case *[]byte:
		*into = r.body
		return res, nil
	case *Response:
		*into = r.response()
		return res, nil
	}
	if len(r.body) == 0 {
		return res, nil
	}
	if r.head.Type == abi.TypeBytes {
		return res, &ResponseError{Tool: tool, Body: r.body, Err: fmt.Errorf("it is not JSON; a Res of []byte takes it as it is")}
	}
	if err := decode(r.body, &res); err != nil {
		var zero Res
		return zero, &ResponseError{Tool: tool, Body: r.body, Err: err}
	}
	return res, nil
}
