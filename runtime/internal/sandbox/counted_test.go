package sandbox_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
	"github.com/pawl-dev/pawl/steps/build"
)

// did is everything that an entry shows of itself.
type did struct {
	Requests, Lines []string
	Output, Failure string
	Err             string
	Memory          string // hash
	Size            int    // of the memory
}

// entering enters the module's steps one after the other, with the answers to
// its calls by tool; a tool without one answers with the request.
func entering(t *testing.T, m *sandbox.Module, s *sandbox.Sandbox, inputs [][2]string, answers map[string]string) (all []did) {
	t.Helper()
	for _, input := range inputs {
		b := newBench(input[0], input[1])
		echo := b.Call
		b.Call = func(ctx context.Context, r *sandbox.Request) (*sandbox.Reply, error) {
			reply, err := echo(ctx, r)
			if answer, ok := answers[r.Tool]; ok {
				reply.Body = []byte(answer)
			}
			if r.Tool == "flaky" {
				reply.Status, reply.Head = abi.NotApplied, abi.ResultHead{Code: "down", Message: "down", Retryable: true}
			}
			return reply, err
		}
		var d did
		s.OnLeaving(func(memory []byte) { d.Memory, d.Size = fmt.Sprintf("%x", sha256.Sum256(memory)), len(memory) })
		exit, err := m.Enter(t.Context(), &b.Entry)
		d.Requests, d.Lines = b.requests, b.lines
		if err != nil {
			d.Err = err.Error()
		} else {
			d.Output, d.Failure = string(exit.Output), fmt.Sprintf("%+v", exit.Failure)
		}
		all = append(all, d)
	}
	return all
}

// The steps of the example, and a guest that does what its input says, make the
// same requests, write the same lines and leave the same memory, byte for byte,
// whether their work is counted or not.
//
// Seen red with a look that moves the guest's clock.
func TestCountedModuleBehavesTheSame(t *testing.T) {
	long(t)
	t.Parallel()
	const order = `{"id":"W1","customer":{"name":"Ana","email":"ana@example.test"},"currency":"EUR","items":[{"sku":"A","title":"Lamp","price_cent":1990},{"sku":"B","title":"Bulb","price_cent":250},{"sku":"B","title":"Bulb","price_cent":250}]}`
	const ticket = `{"id":"T1","order":"W1","status":"open","items":["B","B"],"text":"broken"}`
	for name, row := range map[string]struct {
		dir     string
		inputs  [][2]string
		answers map[string]string
	}{
		"the refund example": {
			"../../../examples/refund",
			[][2]string{
				{"validate", ticket},
				{"validate", `{"id":"T2","status":"closed"}`},
				{"lookup", `{"ticket":` + ticket + `}`},
				{"lookup", `{"ticket":{"id":"T3","order":"W1","items":["C"]}}`},
				{"draft", `{"ticket":` + ticket + `,"case":{"order":` + order + `,"hold":"h1"}}`},
				{"send", `{"ticket":"T1","case":{"order":` + order + `,"hold":"h1"},"paragraph":"Sorry."}`},
				{"nothing", `null`},
			},
			map[string]string{
				"tickets.claim": `{}`, "tickets.note": `{}`, "orders.get": order, "orders.hold": `{"hold":"h1"}`,
				"llm.complete": `{"text":"We are sorry.","tokens":7}`, "pay.refund": `{"id":"rf","amount_cent":250}`, "mail.send": `{"id":"m1"}`,
			},
		},
		"the script guest": {
			"../../testdata/script",
			[][2]string{
				{"one", `{"do":[{"call":"read"},{"chance":"keyed"},{"entropy":"keyed"},{"big":300000},{"log":"so far"},{"rounds":500000}]}`},
				{"two", `{"do":[{"call":"flaky","ignore":true,"else":[{"call":"once","request":{"a":[1,2,3]}}]},{"fail":"no_way"}]}`},
				{"three", `{"do":[{"not_yet":"later"}]}`},
				{"four", `{"do":[{"panic":"dead"}]}`},
				{"one", `{"do":[{"eat":true}]}`},
			},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "m.wasm")
			if _, err := build.Module(t.Context(), &build.Options{Dir: row.dir, Out: out}); err != nil {
				t.Fatal(err)
			}
			wasm, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			plain, counted := open(t, nil), open(t, &sandbox.Options{CacheDir: cacheDir})
			plain.DoNotCount()
			want := entering(t, load(t, plain, wasm), plain, row.inputs, row.answers)
			got := entering(t, load(t, counted, wasm), counted, row.inputs, row.answers)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("not counted -, counted +:\n%s", diff)
			}
			requests := 0
			for _, d := range got {
				if requests += len(d.Requests); d.Size == 0 {
					t.Errorf("no memory: %+v", d)
				}
			}
			if requests < 5 {
				t.Errorf("only %d requests: %+v", requests, got)
			}
		})
	}
}
