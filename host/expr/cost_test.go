package expr_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host/expr"
)

// bigInput is 2,000 integers, two equal long lists, two equal megabytes of text
// and an object.
func bigInput() map[string]any {
	integers := func(n int) []any {
		list := make([]any, n)
		for i := range list {
			list[i] = int64(i)
		}
		return list
	}
	object := map[string]any{}
	for _, name := range strings.Fields("a b c d e f g h") {
		object[name] = strings.Repeat(name, 1000)
	}
	// Two copies: what lies in one place is compared in no time.
	text := strings.Repeat("a", 1<<20)
	return map[string]any{"input": map[string]any{
		"l": integers(2000), "long": integers(20_000), "other": integers(20_000),
		"s": text, "t": strings.Clone(text), "m": object,
	}}
}

// Seen red with CEL's own costs, for which most of these are cheap; lists that
// are written in a loop also without the charge for constructions, and the one
// large match (it took 40 seconds) with matches charged afterwards.
func TestBombs(t *testing.T) { // not parallel: it reads what the process allocated
	vars := bigInput()
	doubled := func(n int) string { return `[input.l]` + strings.Repeat(`.map(x, [x, x])`, n) }
	for _, row := range []struct{ name, src string }{
		{"text made in loops", `[1,2,3,4,5,6,7,8,9,10].map(a, [1,2,3,4,5,6,7,8,9,10].map(b, input.s + input.t))`},
		{"text made in loops and thrown away", `input.l.exists(x, (input.s + input.t) == "")`},
		{"text that doubles", `[input.s]` + strings.Repeat(`.map(a, a + a)`, 8)},
		{"text compared", `input.l.exists(x, input.s + "" < input.t)`},
		{"text searched", `input.l.exists(x, input.s.contains("b"))`},
		{"text matched", `input.l.exists(x, input.s.matches("(a|b)*c$"))`},
		{"text matched once, by a pattern that is large", `input.s.matches("a{900}b")`},
		{"text converted", `input.l.map(x, bytes(input.s)).size() == 0`},
		{"lists compared", `input.l.exists(x, input.long != input.other)`},
		{"lists searched", `input.l.exists(x, -1 in input.l)`},
		{"lists joined", `input.l.map(x, input.long + input.long).size() == 0`},
		{"lists written in a loop", `input.l.map(x, [x` + strings.Repeat(",1", 2500) + `]).size() == 0`},
		{"maps written in a loop", `input.long.map(x, {"a": {"a": {"a": x}}, "b": x}).size() == 0`},
		{"a list that doubles, out of sight", doubled(15) + `.size() == 1`},
		{"a list that doubles, in a condition", `size(` + doubled(15) + `) == 0 ? 1 : 2`},
		{"objects joined", `input.l.map(x, [input.m, input.m]).size() == 0`},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := expr.Compile(row.src, "input")
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = p.EvalContext(t.Context(), vars) // without the time limit
			runtime.ReadMemStats(&after)
			if !errors.Is(err, expr.ErrTooExpensive) || !strings.Contains(err.Error(), "costs more than") {
				t.Errorf("%v; want ErrTooExpensive, for the cost", err)
			}
			if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 150 { // garbage included
				t.Errorf("%d MiB allocated", mib)
			}
		})
	}
}

// What workflows may want to do with large inputs.
func TestLargeInputsAreUsable(t *testing.T) {
	t.Parallel()
	vars := bigInput()
	for _, src := range []string{
		`input`,
		`{"all": input, "again": input.long}`,
		`input.s + input.t + "!"`,
		`input.long.map(x, x * 2).filter(x, x % 3 == 0)`,
		`input.long.map(x, {"id": x, "text": "number " + string(x)})`,
		`input.long.exists(x, x == 19999) && !(20000 in input.long)`,
		`input.long == input.other && input.s == input.t`,
		`input.long + input.other`,
		`input.s.contains("b") || input.s.matches("^a+$")`,
		`input.l.all(a, ["x", "y"].exists(b, b != string(a)))`,
		`input.m.map(k, input.m[k] + k)`,
	} {
		p, err := expr.Compile(src, "input")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Eval(vars); err != nil {
			t.Errorf("%s: %v", src, err)
		}
	}
}

// Seen red without the look at the context after the evaluation: the second
// expression was true.
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, src := range []string{
		`input.long.all(a, input.l.all(b, a + b >= 0))`,
		`input.long.all(a, input.l.all(b, a + b >= 0)) || true`,
	} {
		p, err := expr.Compile(src, "input")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.EvalContext(ctx, bigInput()); !errors.Is(err, expr.ErrTooExpensive) || !strings.Contains(err.Error(), "longer than") {
			t.Errorf("%s = %v, %v; want ErrTooExpensive", src, got, err)
		}
	}
}
