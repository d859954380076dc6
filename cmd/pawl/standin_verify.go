package main

import (
	"strconv"
	"strings"

	"github.com/pawl-dev/pawl/host/expr"
	"github.com/pawl-dev/pawl/host/httptool"
	"github.com/pawl-dev/pawl/runtime/crashtest/fakes/standin"
)

// wholeAnswer stands for what a request was answered, in the answer to a
// question about it.
const wholeAnswer = "{answer}"

// question is how a tool's receiver is asked about a key.
type question struct {
	verify *httptool.Verify
	answer any // of the tool, as a template
}

func (d *declared) question(a *answersFile) *question {
	answer, _, _ := a.answer(d)
	return &question{d.config.Verify, answer}
}

// replies are what the receiver answers about a key that had its effect and
// about one that had not. own is false if the tool's own expressions are not to
// be satisfied by what can be guessed.
func (q *question) replies(t answersTable) (found, absent standin.Reply, own bool) {
	applied, applies := q.found(t)
	missing, misses := q.absent(t)
	if !applies || !misses {
		return standin.Reply{Status: 200, Body: mustJSON(map[string]any{"found": true, "answer": wholeAnswer})},
			standin.Reply{Status: 200, Body: mustJSON(map[string]any{"found": false})}, false
	}
	return applied, missing, true
}

func (q *question) found(t answersTable) (standin.Reply, bool) {
	body := t.Applied
	if body == nil {
		body = at(q.verify.Receipt, wholeAnswer)
	}
	return standin.Reply{Status: 200, Body: mustJSON(body)}, q.means(200, body) == "applied"
}

func (q *question) absent(t answersTable) (standin.Reply, bool) {
	candidates := []standin.Reply{}
	if t.Absent != nil {
		candidates = append(candidates, standin.Reply{Status: 200, Body: mustJSON(t.Absent)})
	} else {
		if cut := strings.LastIndexByte(q.verify.Receipt, '/'); cut >= 0 {
			around := q.verify.Receipt[:cut]
			for _, nothing := range []any{[]any{}, map[string]any{}, nil} {
				candidates = append(candidates, standin.Reply{Status: 200, Body: mustJSON(at(around, nothing))})
			}
		}
		candidates = append(candidates,
			standin.Reply{Status: 404, Body: mustJSON(map[string]any{"error": "not_found"})},
			standin.Reply{Status: 200, Body: mustJSON(map[string]any{})}, standin.Reply{Status: 200, Body: mustJSON([]any{})})
	}
	for _, c := range candidates {
		if q.meansText(c.Status, c.Body) == "absent" {
			return c, true
		}
	}
	return standin.Reply{}, false
}

// says is what an answer of a file means.
func (q *question) says(body any) string { return q.means(200, body) }

func (q *question) means(status int, body any) string {
	return q.meansText(status, mustJSON(withAnswer(body, q.answer)))
}

// meansText is "applied", "absent", or why it is neither.
func (q *question) meansText(status int, body []byte) string {
	applied, absent := status/100 == 2, status == 404
	if q.verify.Applied != "" {
		response, err := expr.Decode(body)
		if err != nil {
			return err.Error()
		}
		vars := map[string]any{"status": int64(status), "response": response}
		if applied, err = holds(q.verify.Applied, vars); err != nil {
			return "nothing: " + err.Error()
		}
		if absent, err = holds(q.verify.Absent, vars); err != nil {
			return "nothing: " + err.Error()
		}
	}
	switch {
	case applied && absent:
		return "both"
	case applied:
		return "applied"
	case absent:
		return "absent"
	}
	return "neither"
}

func holds(source string, vars map[string]any) (bool, error) {
	p, err := expr.Compile(source, "status", "response")
	if err != nil {
		return false, err
	}
	return p.Bool(vars)
}

// withAnswer puts the answer into its places.
func withAnswer(body, answer any) any {
	switch b := body.(type) {
	case map[string]any:
		out := make(map[string]any, len(b))
		for k, v := range b {
			out[k] = withAnswer(v, answer)
		}
		return out
	case []any:
		out := make([]any, len(b))
		for i, v := range b {
			out[i] = withAnswer(v, answer)
		}
		return out
	case string:
		if b == wholeAnswer {
			return answer
		}
	}
	return body
}

// at is a JSON value that has v where the JSON Pointer leads, and nothing else.
func at(pointer string, v any) any {
	if pointer == "" {
		return v
	}
	first, rest, more := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	if more {
		v = at("/"+rest, v)
	}
	name := strings.NewReplacer("~1", "/", "~0", "~").Replace(first)
	const mostElements = 100
	if n, err := strconv.Atoi(name); err == nil && n >= 0 && n < mostElements {
		list := make([]any, n+1)
		for i := range list {
			list[i] = v
		}
		return list
	}
	return map[string]any{name: v}
}
