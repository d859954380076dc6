package sandbox_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
)

// names is a name section: the names of functions from the index of the first
// defined one on.
func names(first int, of ...string) string {
	var entries []string
	for i, name := range of {
		entries = append(entries, wasmtest.Uleb(first+i)+wasmtest.Text(name))
	}
	return wasmtest.Section(0, wasmtest.Text("name")+wasmtest.Section(1, wasmtest.Vector(entries...)))
}

// Failures are recorded, so that their text is the same in the compiler and in
// the interpreter.
//
// Seen red without the names, and with an overflowing stack as wazero says it.
func TestTrapNamesItsFunctions(t *testing.T) {
	t.Parallel()
	compiler, interpreter := open(t, nil), open(t, nil)
	interpreter.Interpret()
	long := strings.Repeat("long", 1000)
	build := func(inner, outer string, called ...string) []byte {
		p := wasmtest.Guest(wasmtest.CallTo(wasmtest.FnFirst+1) + wasmtest.Const(0))
		p.Functions = append(p.Functions, wasmtest.Function{Shape: wasmtest.ShapeNone, Code: outer}, wasmtest.Function{Shape: wasmtest.ShapeNone, Code: inner})
		if called == nil {
			return p.Bytes()
		}
		return append(p.Bytes(), names(wasmtest.FnFirst, called...)...)
	}
	for name, row := range map[string]struct {
		wasm []byte
		want string
	}{
		"innermost first": {
			build(wasmtest.OpUnreachable, wasmtest.CallTo(wasmtest.FnFirst+2), "main.step", "main.(*Order).Price", "divide"),
			"\nin divide, called by main.(*Order).Price, called by main.step",
		},
		"no name section": {
			build(wasmtest.OpUnreachable, wasmtest.CallTo(wasmtest.FnFirst+2)),
			"\nin function 5, called by function 4, called by function 3",
		},
		"names that are no names": {
			build(wasmtest.OpUnreachable, wasmtest.CallTo(wasmtest.FnFirst+2), "a\x1b[31m(b", "", long),
			"called by a[31m(b",
		},
		"two that call each other for ever": {
			build(wasmtest.CallTo(wasmtest.FnFirst+1), wasmtest.CallTo(wasmtest.FnFirst+2), "step", "ping", "pong"),
			"stack overflow",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said []string
			for _, s := range []*sandbox.Sandbox{compiler, interpreter} {
				b := newBench("s", `null`)
				_, err := load(t, s, row.wasm).Enter(t.Context(), &b.Entry)
				trap := new(sandbox.Trap)
				if !errors.As(err, &trap) || !strings.Contains(trap.Message, row.want) {
					t.Fatalf("%v; want %q in it", err, row.want)
				}
				said = append(said, trap.Message)
				if len(trap.Message) > 2<<10 || strings.ContainsAny(trap.Message, "\x1b") {
					t.Errorf("%d bytes: %.300q", len(trap.Message), trap.Message)
				}
			}
			if said[0] != said[1] {
				t.Errorf("the compiler says %q, the interpreter %q", said[0], said[1])
			}
		})
	}
}
