package steps

import "github.com/pawl-dev/pawl/host/abi"

// Response is a receiver's answer as it came.
type Response struct {
	// Status is the answer's status in the terms of the tool's kind: for an HTTP
	// tool the HTTP status. 0 if there is none.
	Status int
	// JSON says that Body is JSON.
	JSON bool
	Body []byte
}

func (r *result) response() Response {
	return Response{Status: r.head.Status, JSON: r.head.Type == abi.TypeJSON, Body: r.body}
}

// result is the response as it reaches a step.
func (r Response) result() *result {
	typ := abi.TypeBytes
	if r.JSON {
		typ = abi.TypeJSON
	}
	return &result{head: abi.ResultHead{Type: typ, Status: r.Status}, body: r.Body}
}
