package httpcall

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/steps"
)

// answered reports whether a call that came to nothing did so by an answer that
// a client can take for what it is. One that says 2xx, and means something else
// by the operator's map, would pass for a success.
func answered(e *steps.CallError) bool {
	status := e.Response.Status
	return (e.Status == abi.Rejected || e.Status == abi.NotApplied) && (status >= 300 && status <= 599)
}

// answer is a receiver's answer as the client gets it; failed is the error of the
// call if there was one.
func answer(req *http.Request, r steps.Response, failed *steps.CallError) *http.Response {
	status := r.Status
	if status == 0 { // the kind of the tool has none
		status = http.StatusOK
	}
	h := http.Header{"Content-Length": {strconv.Itoa(len(r.Body))}}
	if r.JSON {
		h.Set("Content-Type", "application/json")
	}
	if failed != nil && failed.After > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((failed.After-1)/time.Second)+1, 10))
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(bytes.NewReader(r.Body)), ContentLength: int64(len(r.Body)), Request: req,
	}
}
