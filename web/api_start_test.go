package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	pawl "github.com/pawl-dev/pawl/runtime"
)

const order = `{"order":"W1","amount":1200,"queue":"normal"}`

func startBody(id, input string) string {
	return fmt.Sprintf(`{"workflow":"refund","id":%q,"input":%s}`, id, input)
}

// A start is one run however often it is sent.
//
// Seen red with the status 201 for every start.
func TestStart(t *testing.T) {
	t.Parallel()
	f := setup(t)
	s := serve(t, f.engine, nil)
	first := s.post("api/v1/runs", startBody("T1", order)).want(t, http.StatusCreated)
	var doc pawl.Checkpoint
	first.into(t, &doc)
	if doc.ExternalID != "T1" || first.Header.Get("Location") != "runs/"+doc.Run {
		t.Errorf("%s, Location %q", doc.ExternalID, first.Header.Get("Location"))
	}
	at, err := first.Location() // relative to what was asked for
	if err != nil || !strings.HasSuffix(at.Path, mount+"/api/v1/runs/"+doc.Run) {
		t.Errorf("the run is at %v, %v", at, err)
	}
	again := s.post("api/v1/runs", startBody("T1", `{ "queue": "normal", "amount": 1200, "order": "W1" }`)).want(t, http.StatusOK)
	var same pawl.Checkpoint
	again.into(t, &same)
	if same.Run != doc.Run {
		t.Errorf("a second run %s", same.Run)
	}
	other := s.post("api/v1/runs", startBody("T1", strings.Replace(order, "1200", "1201", 1))).want(t, http.StatusConflict)
	if p := other.problem(t); p.Code != "input_conflict" || p.Hint == "" {
		t.Errorf("%+v", p)
	}
	f.rest(f.find(doc.Run))
	if n := f.world.count("pay.refund", "W1"); n != 1 {
		t.Errorf("paid %d times", n)
	}
}

func (f *fixture) find(ref string) *pawl.Run {
	f.t.Helper()
	r, err := f.engine.Find(ref)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// What is wrong with a start is said with its place in the request.
func TestStartRefusals(t *testing.T) {
	t.Parallel()
	f := setup(t)
	s := serve(t, f.engine, nil)
	for name, row := range map[string]struct {
		body, code, pointer string
		status              int
	}{
		"a field is of the wrong type":        {startBody("A", `{"order":7,"amount":1,"queue":"normal"}`), "invalid_input", "/input/order", 422},
		"a field is missing":                  {startBody("A", `{"order":"W1"}`), "invalid_input", "/input", 422},
		"the input is no object":              {startBody("A", `[]`), "invalid_input", "/input", 422},
		"a number that no number can hold":    {startBody("A", `{"order":"W1","amount":1e999,"queue":"normal"}`), "invalid_input", "/input", 422},
		"the input has a key twice":           {startBody("A", `{"order":"W1","order":"W2","amount":1,"queue":"normal"}`), "invalid_input", "/input", 422},
		"the input is missing":                {`{"workflow":"refund"}`, "invalid_input", "/input", 422},
		"the workflow is missing":             {`{"input":{}}`, "invalid_input", "/workflow", 422},
		"the workflow is a number":            {`{"workflow":1,"input":{}}`, "invalid_input", "/workflow", 422},
		"a field that there is not":           {`{"workflow":"refund","input":{},"priority":1}`, "invalid_input", "/priority", 422},
		"an id with a space":                  {startBody("a b", order), "invalid_input", "/id", 422},
		"an id that is too long":              {startBody(strings.Repeat("a", 129), order), "invalid_input", "/id", 422},
		"no such workflow":                    {`{"workflow":"nothing","input":{}}`, "not_found", "", 404},
		"no JSON":                             {`{"workflow":`, "invalid_request", "", 400},
		"nothing":                             {``, "invalid_request", "", 400},
		"two documents":                       {startBody("A", order) + `{}`, "invalid_request", "", 400},
		"a list":                              {`[]`, "invalid_input", "", 422},
		"deeper than anybody means":           {`{"workflow":"refund","input":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, "invalid_request", "", 400},
		"a workflow's name out of the folder": {`{"workflow":"../refund","input":{}}`, "not_found", "", 404},
	} {
		r := s.post("api/v1/runs", row.body).want(t, row.status)
		p := r.problem(t)
		pointer := ""
		if len(p.Errors) > 0 {
			pointer = p.Errors[0].Pointer
		}
		if p.Code != row.code || pointer != row.pointer || p.Hint == "" || strings.Contains(string(r.body), "web.") {
			t.Errorf("%s: %s", name, r.body)
		}
	}
	var got listed
	s.get("api/v1/runs").into(t, &got)
	if len(got.Items) != 0 {
		t.Errorf("refused starts left %v", got.ids())
	}
}

// An idempotency key stands for a missing id.
//
// Seen red with the key ignored, and with a key that is no id refused.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	f := setup(t)
	s := serve(t, f.engine, nil)
	start := func(id string, header ...string) *reply {
		t.Helper()
		return s.post("api/v1/runs", startBody(id, order), header...)
	}
	known := func(r *reply) string {
		t.Helper()
		var doc pawl.Checkpoint
		r.into(t, &doc)
		return doc.ExternalID
	}
	if id := known(start("", "Idempotency-Key: k-1").want(t, http.StatusCreated)); id != "k-1" {
		t.Errorf("a key that is an id made %q", id)
	}
	start("k-1").want(t, http.StatusOK)
	start("", `Idempotency-Key: "k-1"`).want(t, http.StatusOK)
	start("k-1", "Idempotency-Key: k-1").want(t, http.StatusOK)
	strange := known(start("", "Idempotency-Key: a key / with ünusual ™ text").want(t, http.StatusCreated))
	if !strings.HasPrefix(strange, "key-") || len(strange) != 36 {
		t.Errorf("a key that is no id made %q", strange)
	}
	start("", "Idempotency-Key: a key / with ünusual ™ text").want(t, http.StatusOK)
	start(strange).want(t, http.StatusOK)
	start("", "Idempotency-Key: a key / with ünusual ™ texts").want(t, http.StatusCreated)
	if p := start("k-2", "Idempotency-Key: k-1").want(t, 422).problem(t); len(p.Errors) != 1 || p.Errors[0].Pointer != "/id" {
		t.Errorf("%+v", p)
	}
	start("", "Idempotency-Key: k-3", "Idempotency-Key: k-4").want(t, http.StatusBadRequest)
	start("", "Idempotency-Key: ").want(t, http.StatusBadRequest)
	start("", `Idempotency-Key: ""`).want(t, http.StatusBadRequest)
	start("", "Idempotency-Key: "+strings.Repeat("k", 513)).want(t, http.StatusBadRequest)
	if p := s.post("api/v1/runs", startBody("", strings.Replace(order, "1200", "7", 1)), "Idempotency-Key: k-1").want(t, 409).problem(t); p.Code != "input_conflict" {
		t.Errorf("%+v", p)
	}
}
