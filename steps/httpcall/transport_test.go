package httpcall_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/steps"
	"github.com/pawl-dev/pawl/steps/httpcall"
)

// asked is what a client in the step is to ask for.
type asked struct {
	Method, URL, Body string
	Header            map[string]string
}

// got is what came back to it.
type got struct {
	Status     int
	Type       string
	RetryAfter string
	Body       string
}

var (
	getOrder  = httpcall.NewTool("orders.get", "GET /v1/orders/{order}", "authorization")
	putOrder  = httpcall.NewTool("orders.put", "PUT /v1/orders/{order}")
	newRefund = httpcall.NewTool("pay.refund", "POST /v1/refunds")
	endHold   = httpcall.NewTool("holds.end", "DELETE /v1/holds/{hold}")
)

func init() {
	steps.Handle("ask", func(s *steps.Step, in asked) (got, error) {
		client := &http.Client{Transport: httpcall.Transport(s, getOrder, putOrder, newRefund, endHold)}
		req, err := http.NewRequest(in.Method, "http://shop.invalid"+in.URL, strings.NewReader(in.Body))
		if err != nil {
			return got{}, err
		}
		for name, value := range in.Header {
			req.Header.Set(name, value)
		}
		resp, err := client.Do(req)
		if err != nil {
			return got{}, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return got{resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header.Get("Retry-After"), string(body)}, err
	})
}

// ask runs the step with a fake behind every tool and returns which tool was
// called with what, as "tool request".
func ask(in asked, answer func() (any, error)) (got, string, error) {
	var called string
	tools := steps.Tools{}
	for _, id := range []string{"orders.get", "orders.put", "pay.refund", "holds.end"} {
		tools[id] = func(req json.RawMessage) (any, error) {
			called += id + " " + string(req)
			return answer()
		}
	}
	out, err := steps.Test("ask", in, tools)
	var back got
	if err == nil {
		err = json.Unmarshal(out, &back)
	}
	return back, called, err
}

var jsonType = map[string]string{"Content-Type": "application/json; charset=utf-8"}

// Seen red with the query left out, and with a body that the tool would not send.
func TestRequestsBecomeCalls(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		in   asked
		want string
	}{
		"a wildcard of the path": {asked{Method: "GET", URL: "/v1/orders/W%2F1"}, `orders.get {"order":"W/1"}`},
		"the query's parameters": {asked{Method: "GET", URL: "/v1/orders/W1?expand=items&a=x%20y"}, `orders.get {"a":"x y","expand":"items","order":"W1"}`},
		"headers that are dropped": {
			asked{Method: "GET", URL: "/v1/orders/W1", Header: map[string]string{"Accept": "*/*", "Authorization": "Bearer none"}},
			`orders.get {"order":"W1"}`,
		},
		"a delete":        {asked{Method: "DELETE", URL: "/v1/holds/h1"}, `holds.end {"hold":"h1"}`},
		"a body of JSON":  {asked{Method: "POST", URL: "/v1/refunds", Body: `{"amount":1.10}`, Header: jsonType}, `pay.refund {"amount":1.10}`},
		"a form":          {asked{Method: "POST", URL: "/v1/refunds", Body: `amount=1&to[0]=x`}, `pay.refund amount=1&to[0]=x`},
		"no body":         {asked{Method: "POST", URL: "/v1/refunds"}, `pay.refund `},
		"path and body":   {asked{Method: "PUT", URL: "/v1/orders/7", Body: `{"order":7,"state":"sent"}`, Header: jsonType}, `orders.put {"order":7,"state":"sent"}`},
		"a name as text":  {asked{Method: "PUT", URL: "/v1/orders/W1", Body: `{"order":"W1"}`, Header: jsonType}, `orders.put {"order":"W1"}`},
		"a JSON dialect ": {asked{Method: "POST", URL: "/v1/refunds", Body: `[1]`, Header: map[string]string{"Content-Type": "application/vnd.api+json"}}, `pay.refund [1]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, called, err := ask(row.in, func() (any, error) { return nil, nil })
			if err != nil {
				t.Fatal(err)
			}
			if called != row.want {
				t.Errorf("called %s, want %s", called, row.want)
			}
		})
	}
}

// Seen red with each check left out in turn.
func TestWhatAToolCannotSendIsRefused(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		in   asked
		is   error
		want string
	}{
		"another path":              {asked{Method: "GET", URL: "/v1/refunds/1"}, steps.ErrDenied, `"GET /v1/orders/{order}"`},
		"another method":            {asked{Method: "PATCH", URL: "/v1/orders/W1"}, steps.ErrDenied, "no tool of the transport"},
		"HEAD, which GET would fit": {asked{Method: "HEAD", URL: "/v1/orders/W1"}, steps.ErrDenied, "HEAD /v1/orders/W1"},
		"a header":                  {asked{Method: "GET", URL: "/v1/orders/W1", Header: map[string]string{"If-None-Match": "x"}}, steps.ErrInvalid, "If-None-Match would be lost"},
		"credentials":               {asked{Method: "POST", URL: "/v1/refunds", Header: map[string]string{"Authorization": "x"}}, steps.ErrInvalid, "Authorization would be lost"},
		"a parameter twice":         {asked{Method: "GET", URL: "/v1/orders/W1?a=1&a=2"}, steps.ErrInvalid, "a tool sends it once"},
		"a parameter of that name":  {asked{Method: "GET", URL: "/v1/orders/W1?order=W2"}, steps.ErrInvalid, "name of a part of the path"},
		"a query that is none":      {asked{Method: "GET", URL: "/v1/orders/W1?a=%zz"}, steps.ErrInvalid, "query"},
		"a body with a GET":         {asked{Method: "GET", URL: "/v1/orders/W1", Body: "{}"}, steps.ErrInvalid, "a GET has no body"},
		"JSON that is none":         {asked{Method: "POST", URL: "/v1/refunds", Body: "{", Header: jsonType}, steps.ErrInvalid, "not the JSON"},
		"a path without its body":   {asked{Method: "PUT", URL: "/v1/orders/W1", Body: `{}`, Header: jsonType}, steps.ErrInvalid, `order="W1"`},
		"another value in the body": {asked{Method: "PUT", URL: "/v1/orders/W1", Body: `{"order":"W2"}`, Header: jsonType}, steps.ErrInvalid, `order="W1"`},
		"null in the body":          {asked{Method: "PUT", URL: "/v1/orders/W1", Body: `{"order":null}`, Header: jsonType}, steps.ErrInvalid, `order="W1"`},
		"a form with a query":       {asked{Method: "POST", URL: "/v1/refunds?to=x", Body: "to=x"}, steps.ErrInvalid, `to="x"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, called, err := ask(row.in, func() (any, error) { return nil, nil })
			if !errors.Is(err, row.is) || !strings.Contains(err.Error(), row.want) || called != "" {
				t.Errorf("got %v, called %q; want %v with %q", err, called, row.is, row.want)
			}
		})
	}
}

// Seen red with rejected calls handed over as errors, and with 2xx let through.
func TestAnswersComeBackAsResponses(t *testing.T) {
	t.Parallel()
	rejected := func(status int) *steps.CallError {
		return &steps.CallError{Status: abi.Rejected, Response: steps.Response{Status: status, JSON: true, Body: []byte(`{"why":"gone"}`)}}
	}
	for name, row := range map[string]struct {
		value any
		err   error
		want  got
		is    error
	}{
		"created":                 {value: steps.Response{Status: 201, JSON: true, Body: []byte(`{"id":1}`)}, want: got{201, "application/json", "", `{"id":1}`}},
		"bytes":                   {value: steps.Response{Status: 200, Body: []byte("<p>")}, want: got{200, "", "", "<p>"}},
		"a kind without statuses": {value: map[string]int{"id": 1}, want: got{200, "application/json", "", `{"id":1}`}},
		"gone, and that is well":  {value: steps.Response{Status: 404}, want: got{404, "", "", ""}},
		"rejected":                {err: rejected(404), want: got{404, "application/json", "", `{"why":"gone"}`}},
		"come again": {
			err:  &steps.CallError{Status: abi.NotApplied, After: 1500 * time.Millisecond, Response: steps.Response{Status: 429}},
			want: got{429, "", "2", ""},
		},
		"an unfollowed redirect":           {err: &steps.CallError{Status: abi.NotApplied, Response: steps.Response{Status: 302}}, want: got{302, "", "", ""}},
		"rejected by the map, with a 200":  {err: rejected(200), is: steps.ErrRejected},
		"no connection":                    {err: &steps.CallError{Status: abi.NotApplied}, is: steps.ErrNotApplied},
		"no answer in time, after a 503":   {err: &steps.CallError{Status: abi.Deadline, Response: steps.Response{Status: 503}}, is: steps.ErrDeadline},
		"denied":                           {err: steps.ErrDenied, is: steps.ErrDenied},
		"invalid, as the tool itself says": {err: steps.ErrInvalid, is: steps.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			back, _, err := ask(asked{Method: "GET", URL: "/v1/orders/W1"}, func() (any, error) { return row.value, row.err })
			var call *steps.CallError
			if row.is != nil {
				if !errors.Is(err, row.is) || !errors.As(err, &call) || call.Tool != "orders.get" {
					t.Errorf("got %v, want %v", err, row.is)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, back); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPatternsThatNoToolCanStandFor(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"/v1/orders", "GET /v1/", "GET /{path...}", "HEAD /v1", "GET v1", ""} {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Errorf("%q was taken", pattern)
				}
			}()
			httpcall.NewTool("x", pattern)
		})
	}
}
