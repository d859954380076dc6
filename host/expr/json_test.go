package expr_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host/expr"
)

func TestDecodeNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		"0": int64(0), "-1": int64(-1), "9223372036854775807": int64(9223372036854775807),
		"9223372036854775808": uint64(9223372036854775808), "18446744073709551615": uint64(18446744073709551615),
		"1.0": 1.0, "1e3": 1000.0, "-0.5": -0.5, "1e20": 1e20, "100000000000000000000": 1e20,
	} {
		if d := cmp.Diff(want, decode(t, text)); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"18446744073709551616":         "would lose digits",
		"-9223372036854775809":         "would lose digits",
		"100000000000000000001":        "would lose digits",
		"1e400":                        "too large",
		"1 2":                          "something follows",
		"{} x":                         "something follows",
		`{"a":1,"a":2}`:                `"a" is there twice`,
		"":                             "ends too early",
		`{"a":`:                        "ends too early",
		"[1,]":                         "invalid character",
		"{'a':1}":                      "invalid character",
		"nul":                          "ends too early",
		strings.Repeat("[", 1_200):     "nested deeper",
		"1" + strings.Repeat("0", 9e5): "would lose digits",
	} {
		_, err := expr.Decode([]byte(text))
		var typed *expr.DecodeError
		if !errors.As(err, &typed) || !strings.Contains(err.Error(), want) {
			t.Errorf("Decode(%.30s) = %v; want %q", text, err, want)
		}
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	got, err := expr.Encode(map[string]any{"b": []any{nil, true, uint64(18446744073709551615)}, "a": "<&>", "c": 1.5})
	if want := `{"a":"<&>","b":[null,true,18446744073709551615],"c":1.5}`; string(got) != want || err != nil {
		t.Errorf("Encode = %s, %v; want %s", got, err, want)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5,"x",null,true]}`, `1e20`, `[1,]`, `{"a":1}{`, `"\ud800"`, "123456789012345678901234567890"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := expr.Decode(text)
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("decoded what is no JSON: %q", text)
		}
		once, err := expr.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := expr.Decode(once)
		if err != nil {
			t.Fatalf("%s does not decode: %v", once, err)
		}
		if twice, _ := expr.Encode(again); string(twice) != string(once) {
			t.Fatalf("%s became %s", once, twice)
		}
	})
}
