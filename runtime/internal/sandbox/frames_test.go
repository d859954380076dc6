package sandbox_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// names is a name section: the names of functions from the index of the first
// defined one on.
func names(first int, of ...string) string {
	var entries []string
	for i, name := range of {
		entries = append(entries, uleb(first+i)+text(name))
	}
	return section(0, text("name")+section(1, vector(entries...)))
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
		p := guestProgram(callTo(fnFirst+1) + constant(0))
		p.functions = append(p.functions, function{shape: shapeNone, code: outer}, function{shape: shapeNone, code: inner})
		if called == nil {
			return p.bytes()
		}
		return append(p.bytes(), names(fnFirst, called...)...)
	}
	for name, row := range map[string]struct {
		wasm []byte
		want string
	}{
		"innermost first": {
			build(opUnreachable, callTo(fnFirst+2), "main.step", "main.(*Order).Price", "divide"),
			"\nin divide, called by main.(*Order).Price, called by main.step",
		},
		"no name section": {
			build(opUnreachable, callTo(fnFirst+2)),
			"\nin function 5, called by function 4, called by function 3",
		},
		"names that are no names": {
			build(opUnreachable, callTo(fnFirst+2), "a\x1b[31m(b", "", long),
			"called by a[31m(b",
		},
		"two that call each other for ever": {
			build(callTo(fnFirst+1), callTo(fnFirst+2), "step", "ping", "pong"),
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
