package steps_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/steps"
)

type numbers struct {
	Big   int64          `json:"big"`
	Small *int           `json:"small,omitempty"`
	Any   any            `json:"any,omitempty"`
	Map   map[string]int `json:"map,omitempty"`
	Text  string         `json:"text,omitempty"`
}

var (
	numbersTool = steps.NewTool[numbers, numbers]("test.numbers")
	bytesTool   = steps.NewTool[[]byte, []byte]("test.bytes")
	rawTool     = steps.NewTool[json.RawMessage, json.RawMessage]("test.raw")
	badTool     = steps.NewTool[func(), int]("test.bad_request")
)

var errOwn = errors.New("an error of the author's own")

func init() {
	steps.Handle("pass", func(_ *steps.Step, in any) (any, error) { return in, nil })
	steps.Handle("numbers", func(s *steps.Step, in numbers) (numbers, error) { return numbersTool.Call(s, in) })
	steps.Handle("bytes", func(s *steps.Step, in string) (string, error) {
		out, err := bytesTool.Call(s, []byte(in))
		return string(out), err
	})
	steps.Handle("raw", func(s *steps.Step, in json.RawMessage) (json.RawMessage, error) { return rawTool.Call(s, in) })
	steps.Handle("raw_opted_in", func(s *steps.Step, in json.RawMessage) (string, error) {
		_, err := rawTool.Call(s, in, steps.SeeUnknown())
		if errors.Is(err, steps.ErrUnknown) {
			return "seen as unknown", nil
		}
		return "", err
	})
	steps.Handle("bad_request", func(s *steps.Step, _ any) (int, error) { return badTool.Call(s, func() {}) })
	steps.Handle("bad_output", func(*steps.Step, any) (any, error) { return make(chan int), nil })
	steps.Handle("fail", func(_ *steps.Step, in string) (int, error) {
		return 7, steps.Fail(in, "ticket %d: %w", 4, errOwn)
	})
	steps.Handle("wrapped_fail", func(*steps.Step, any) (int, error) {
		return 0, fmt.Errorf("while looking: %w", steps.Fail("gone", "no more"))
	})
	steps.Handle("not_yet", func(*steps.Step, any) (int, error) {
		return 0, steps.NotYet(1500*time.Microsecond, "label not printed")
	})
	steps.Handle("own_error", func(*steps.Step, any) (int, error) { return 0, errOwn })
	steps.Handle("panics", func(*steps.Step, any) (int, error) { panic(errOwn) })
	steps.Handle("index", func(_ *steps.Step, in []int) (int, error) { return in[3], nil })
	steps.Handle("name", func(s *steps.Step, _ any) (string, error) { return s.Name(), nil })
}

func echo(req json.RawMessage) (any, error) { return req, nil }

// Seen red with numbers read as float64.
func TestValuesArriveAsTheyWereSent(t *testing.T) {
	t.Parallel()
	const tooBigForFloat = "9007199254740993"
	tests := []struct{ name, step, input, want string }{
		{"integers in any", "pass", `{"n":` + tooBigForFloat + `}`, `{"n":` + tooBigForFloat + `}`},
		{"the text of a decimal", "pass", `[1.10,1e400]`, `[1.10,1e400]`},
		{"integers of Go types", "numbers", `{"big":` + tooBigForFloat + `}`, `{"big":` + tooBigForFloat + `}`},
		{"integers in any through a tool", "numbers", `{"big":1,"any":` + tooBigForFloat + `}`, `{"big":1,"any":` + tooBigForFloat + `}`},
		{"no HTML escapes", "numbers", `{"big":1,"text":"a<b>&c"}`, `{"big":1,"text":"a<b>&c"}`},
		{"fields that the type does not have", "numbers", `{"big":1,"more":2}`, `{"big":1}`},
		{"bytes that are not text", "bytes", `"\u0000a"`, `"\u0000a"`},
		{"raw JSON", "raw", `{"b":1, "a":[]}`, `{"b":1,"a":[]}`},
		{"null", "pass", `null`, `null`},
		{"the step's name", "name", `null`, `"name"`},
	}
	tools := steps.Tools{
		"test.numbers": echo, "test.raw": echo,
		"test.bytes": func(req json.RawMessage) (any, error) { return []byte(req), nil },
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := steps.Test(tt.step, json.RawMessage(tt.input), tools)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequestBytes(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, step, input, tool, want string }{
		{"map keys in order", "numbers", `{"big":1,"map":{"b":2,"a":1}}`, "test.numbers", `{"big":1,"map":{"a":1,"b":2}}`},
		{"no escapes, no newline", "numbers", `{"big":1,"text":"<&>"}`, "test.numbers", `{"big":1,"text":"<&>"}`},
		{"bytes as they are", "bytes", `"not json"`, "test.bytes", `not json`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got string
			_, err := steps.Test(tt.step, json.RawMessage(tt.input), steps.Tools{tt.tool: func(req json.RawMessage) (any, error) {
				got = string(req)
				return nil, nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("request %s, want %s", got, tt.want)
			}
		})
	}
}

func TestResponses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		response any
		want     string // output
		code     string // of the failure
	}{
		{"no content is the zero value", nil, `{"big":0}`, ""},
		{"another shape", []int{1}, "", "bad_response"},
		{"a fraction for an integer", json.RawMessage(`{"big":1.5}`), "", "bad_response"},
		{"an integer too large", json.RawMessage(`{"big":92233720368547758070}`), "", "bad_response"},
		{"bytes", []byte("<html>"), "", "bad_response"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := steps.Test("numbers", numbers{}, steps.Tools{"test.numbers": func(json.RawMessage) (any, error) { return tt.response, nil }})
			if tt.code == "" {
				if err != nil || string(got) != tt.want {
					t.Fatalf("got %s, %v; want %s", got, err, tt.want)
				}
				return
			}
			var f *steps.Failure
			var re *steps.ResponseError
			if !errors.As(err, &f) || f.Code != tt.code || !errors.As(err, &re) || re.Tool != "test.numbers" {
				t.Errorf("got %v, want a ResponseError with code %s", err, tt.code)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, step, input string
		want              string // as it is put
		is                error
	}{
		{"fail is never", "fail", `"wrong_status"`, `{"code":"wrong_status","message":"ticket 4: an error of the author's own","retry":"never"}`, errOwn},
		{"a code that is not allowed is made one", "fail", `"Wrong status!"`, `{"code":"wrong_status_","message":"ticket 4: an error of the author's own","retry":"never"}`, nil},
		{"no code", "fail", `""`, `{"code":"error","message":"ticket 4: an error of the author's own","retry":"never"}`, nil},
		{"a long code", "fail", `"` + strings.Repeat("x", 70) + `"`, `{"code":"` + strings.Repeat("x", 64) + `","message":"ticket 4: an error of the author's own","retry":"never"}`, nil},
		{"wrapped fail stays never", "wrapped_fail", `0`, `{"code":"gone","message":"while looking: gone: no more","retry":"never"}`, nil},
		{"not yet is fresh, its wait is rounded up", "not_yet", `0`, `{"code":"not_yet","message":"label not printed","retry":"fresh","after_ms":2}`, nil},
		{"any other error is again", "own_error", `0`, `{"code":"error","message":"an error of the author's own","retry":"again"}`, errOwn},
		{"a request that is no JSON", "bad_request", `0`, `{"code":"bad_request","message":"test.bad_request: func() cannot be written as JSON: json: unsupported type: func()","retry":"again"}`, steps.ErrInvalid},
		{"an output that is no JSON", "bad_output", `0`, `{"code":"bad_output","message":"step bad_output: chan int cannot be written as JSON: json: unsupported type: chan int","retry":"never"}`, nil},
		{"an input of another type", "fail", `[]`, `{"code":"bad_input","message":"step fail: the input does not fit string: json: cannot unmarshal array into Go value of type string","retry":"never"}`, nil},
		{"no such tool", "raw", `1`, `{"code":"denied","message":"test.raw: steps.Test was given no such tool","retry":"again"}`, steps.ErrDenied},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := steps.Test(tt.step, json.RawMessage(tt.input), nil)
			var f *steps.Failure
			if !errors.As(err, &f) {
				t.Fatalf("got %v, want a Failure", err)
			}
			if diff := cmp.Diff(tt.want, string(steps.PutFailure(f))); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v does not match %v", err, tt.is)
			}
		})
	}
}

func TestNoSuchStepNamesThoseThatThereAre(t *testing.T) {
	t.Parallel()
	_, err := steps.Test("compose", nil, nil)
	var f *steps.Failure
	if !errors.As(err, &f) || f.Code != "no_such_step" || f.Retry != abi.Never || !strings.Contains(f.Message, `"compose"; it has bad_output, `) {
		t.Errorf("got %v", err)
	}
}

func TestPanicIsAFailureThatNamesItsPlace(t *testing.T) {
	t.Parallel()
	for step, message := range map[string]string{
		"panics": "panic: an error of the author's own (at ",
		"index":  "panic: runtime error: index out of range [3] with length 1 (at ",
	} {
		_, err := steps.Test(step, []int{1}, nil)
		var f *steps.Failure
		if !errors.As(err, &f) || f.Code != "panic" || f.Retry != abi.Again || !strings.HasPrefix(f.Message, message) {
			t.Fatalf("%s: got %v", step, err)
		}
		var detail struct{ Stack []string }
		var put abi.Failure
		if err := json.Unmarshal(steps.PutFailure(f), &put); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(put.Detail, &detail); err != nil {
			t.Fatal(err)
		}
		if len(detail.Stack) != 1 || !strings.Contains(detail.Stack[0], " step_test.go:") {
			t.Errorf("%s: stack %q, want the one frame in this file", step, detail.Stack)
		}
	}
}

func TestRegistrationRefusesClearly(t *testing.T) {
	t.Parallel()
	f := func(*steps.Step, any) (any, error) { return nil, nil }
	tests := []struct {
		name, want string
		do         func()
	}{
		{"the same step twice", `steps.Handle("pass"): the module already has a step of that name; give one of them another`, func() { steps.Handle("pass", f) }},
		{"a name with a capital", `steps.Handle("Send"): a step's name is [a-z][a-z0-9_]{0,63}`, func() { steps.Handle("Send", f) }},
		{"no function", `steps.Handle("nil"): the function is nil`, func() { steps.Handle[any, any]("nil", nil) }},
		{"a tool with a slash", `steps.NewTool("pay/refund"): a tool's name is [a-z0-9_.-]{1,64}`, func() { steps.NewTool[any, any]("pay/refund") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if got := recover(); got != tt.want {
					t.Errorf("panic %v, want %s", got, tt.want)
				}
			}()
			tt.do()
		})
	}
}
