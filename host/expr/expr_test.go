package expr_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host/expr"
)

func eval(t *testing.T, src, input string) (any, error) {
	t.Helper()
	p, err := expr.Compile(src, "input")
	if err != nil {
		t.Fatalf("Compile(%s): %v", src, err)
	}
	return p.Eval(map[string]any{"input": decode(t, input)})
}

func decode(t *testing.T, text string) any {
	t.Helper()
	v, err := expr.Decode([]byte(text))
	if err != nil {
		t.Fatalf("Decode(%s): %v", text, err)
	}
	return v
}

func TestEval(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, src, input string
		want             any
	}{
		{"an integer stays one", `input.n`, `{"n":9007199254740993}`, int64(9007199254740993)},
		{"the least integer", `input`, `-9223372036854775808`, int64(-9223372036854775808)},
		{"above the signed integers", `input`, `18446744073709551615`, uint64(18446744073709551615)},
		{"a fraction", `input * 2.0`, `0.25`, 0.5},
		{"arithmetic on integers", `input.amount * 3 + 1`, `{"amount":100}`, int64(301)},
		{"an integer against a fraction", `input > 10.5`, `11`, true},
		{"a fraction against an integer", `input > 10`, `10.5`, true},
		{"null", `input.a`, `{"a":null}`, nil},
		{"a missing field can be asked for", `has(input.a) ? input.a : "none"`, `{}`, "none"},
		{"an object", `{"order": input.id, "list": [1, 2.5, input.ok]}`, `{"id":"x","ok":true}`, map[string]any{"order": "x", "list": []any{int64(1), 2.5, true}}},
		{"an empty list is not null", `input.filter(x, x > 5)`, `[1,2]`, []any{}},
		{"an empty object", `{}`, `null`, map[string]any{}},
		{"by index and by name", `input["a b"][1]`, `{"a b":[1,2]}`, int64(2)},
		{"a list is searched", `input.exists(x, x.id == "b")`, `[{"id":"a"},{"id":"b"}]`, true},
		{"sizes and text", `size(input) == 2 && input[0].startsWith("a") && input[1].matches("^b+$")`, `["ab","bb"]`, true},
		{"a time is compared", `timestamp(input) < timestamp("2026-01-02T00:00:00Z")`, `"2026-01-01T00:00:00Z"`, true},
		{"a time in UTC whatever the offset it is written with", `timestamp(input).getHours()`, `"2026-01-01T01:00:00+02:00"`, int64(23)},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := eval(t, row.src, row.input)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(row.want, got); d != "" {
				t.Errorf("%s over %s (-want +got):\n%s", row.src, row.input, d)
			}
		})
	}
}

func TestEvalErrors(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, src, input, want string }{
		{"a missing field", `input.amuont > 1`, `{"amount":1}`, `1:6: no such key: amuont (in "input.amuont > 1")`},
		{"a missing field further in", `{"a": 1, "b": input.order.id}`, `{"order":{}}`, `no such key: id`},
		{"a field of a string", `input.a.b`, `{"a":"x"}`, `no such`},
		{"an index past the end", `input[3]`, `[1]`, `index out of bounds: 3`},
		{"division by zero", `1 / input`, `0`, `division by zero`},
		{"an overflow", `input + 1`, `9223372036854775807`, `overflow`},
		{"no JSON number", `input / 0.0`, `1.5`, `is no JSON number`},
		{"no JSON type", `timestamp(input)`, `"2026-01-01T00:00:00Z"`, `string(...) may help`},
		{"a key that is no string", `{1: input}`, `1`, `only strings as keys`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := eval(t, row.src, row.input)
			var typed *expr.EvalError
			if !errors.As(err, &typed) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%s over %s = %v, %v; want an error with %q", row.src, row.input, got, err, row.want)
			}
			if typed != nil && typed.Source != row.src {
				t.Errorf("source %q, want %q", typed.Source, row.src)
			}
		})
	}
}

// Seen red without the cut.
func TestEvalErrorIsShort(t *testing.T) {
	t.Parallel()
	_, err := eval(t, `{}[input]`, `"`+strings.Repeat("ä", 10_000)+`"`)
	if err == nil || len(err.Error()) > 400 || !utf8.ValidString(err.Error()) || !strings.Contains(err.Error(), "no such key") {
		t.Errorf("%.500v", err)
	}
}

func TestCompileErrors(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, src, want string }{
		{"an unknown name", `1 + inptu.a`, `1:5: undeclared reference to 'inptu' (did you mean 'input'?) (known here: input, steps.a)`},
		{"a step that is not known", `steps.b`, `undeclared reference`},
		{"the second line", "1 +\n  )", `2:3: Syntax error`},
		{"wrong types", `1 + "a"`, `1:3: found no matching overload`},
		{"no clock", `now()`, `undeclared reference to 'now'`},
		{"no time zone database", `timestamp("2026-01-01T00:00:00Z").getHours("Europe/Rome")`, `no matching overload`},
		{"a wrong pattern", `input.matches("(")`, `error parsing regexp`},
		{"nothing", ``, `Syntax error`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := expr.Compile(row.src, "input", "steps.a")
			var typed *expr.CompileError
			if !errors.As(err, &typed) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("Compile(%q) = %v; want %q", row.src, err, row.want)
			}
		})
	}
}

// Seen red for the loops with the cost limit removed and for the doubling with
// the limit on results removed (both did not end), and for the pattern without
// its limit.
func TestRunawayExpressions(t *testing.T) {
	t.Parallel()
	list := "[" + strings.Repeat("1,", 999) + "1]"
	for _, row := range []struct{ name, src string }{
		{"nested loops", `input.all(a, input.all(b, input.all(c, input.all(d, a + b + c + d > 0))))`},
		{"a list that doubles", `[input]` + strings.Repeat(`.map(x, [x, x])`, 24)},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if _, err := eval(t, row.src, list); !errors.Is(err, expr.ErrTooExpensive) {
				t.Errorf("%v; want ErrTooExpensive", err)
			}
		})
	}
	if _, err := eval(t, `"a".matches(input)`, `"`+strings.Repeat("a", 5000)+`"`); err == nil || !strings.Contains(err.Error(), "limit 4096") {
		t.Errorf("a long pattern: %v; want an error that names the limit", err)
	}
	if ok, err := eval(t, `"xab".matches(input + "?")`, `"^x.b"`); ok != true || err != nil {
		t.Errorf("a pattern that is computed: %v, %v", ok, err)
	}
	// The pattern may come from the input, so it is judged when it is used.
	if _, err := eval(t, `"a".matches(input)`, `"((a{10}){10}){10}"`); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("a pattern that grows: %v; want an error that names the limit", err)
	}
}

// Seen red without the order of sortedMap, and without the order of literals.
func TestMapsAreWalkedInOrder(t *testing.T) {
	t.Parallel()
	const want = `["a","b","c","d","e","f","g","h"]`
	for _, src := range []string{
		`input.map(k, k)`,
		`{"h":1,"g":1,"f":1,"e":1,"d":1,"c":1,"b":1,"a":1}.map(k, k)`,
		`[{"m": input}].map(x, x.m.map(k, k))[0]`,
	} {
		for range 20 {
			got, err := eval(t, src, `{"h":1,"g":2,"f":3,"e":4,"d":5,"c":6,"b":7,"a":8}`)
			if err != nil {
				t.Fatal(err)
			}
			if text, _ := expr.Encode(got); string(text) != want {
				t.Fatalf("%s = %s, want %s", src, text, want)
			}
		}
	}
}

func TestBool(t *testing.T) {
	t.Parallel()
	p, err := expr.Compile(`input`, "input")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := p.Bool(map[string]any{"input": true}); !b || err != nil {
		t.Errorf("Bool = %v, %v", b, err)
	}
	if _, err := p.Bool(map[string]any{"input": "true"}); err == nil || !strings.Contains(err.Error(), "a string, not true or false") {
		t.Errorf("Bool of a string: %v", err)
	}
}

func TestUses(t *testing.T) {
	t.Parallel()
	p, err := expr.Compile(`steps.lookup.order.id + input.x`, "input", "steps.lookup", "steps.validate")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{"input": p.Uses("input"), "lookup": p.Uses("steps.lookup"), "validate": p.Uses("steps.validate")}
	if d := cmp.Diff(map[string]bool{"input": true, "lookup": true, "validate": false}, got); d != "" {
		t.Error(d)
	}
	out, err := p.Eval(map[string]any{"input": map[string]any{"x": "y"}, "steps.lookup": map[string]any{"order": map[string]any{"id": "x"}}})
	if err != nil || out != "xy" {
		t.Errorf("Eval = %v, %v", out, err)
	}
}

func TestResultSharesNothing(t *testing.T) {
	t.Parallel()
	in := map[string]any{"a": []any{int64(1)}}
	p, _ := expr.Compile(`input`, "input")
	out, err := p.Eval(map[string]any{"input": in})
	if err != nil {
		t.Fatal(err)
	}
	out.(map[string]any)["a"].([]any)[0] = int64(2)
	if in["a"].([]any)[0] != int64(1) {
		t.Error("changing the result changed the input")
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	p, err := expr.Compile(`input.list.map(x, x + input.n)`, "input")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				out, err := p.Eval(map[string]any{"input": map[string]any{"n": int64(i), "list": []any{int64(1), int64(2)}}})
				if d := cmp.Diff([]any{int64(1 + i), int64(2 + i)}, out); err != nil || d != "" {
					t.Error(err, d)
				}
			}
		})
	}
	wg.Wait()
}
