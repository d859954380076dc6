package host_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"pgregory.net/rapid"
)

func hashJSON(t testing.TB, body string) host.Hash {
	t.Helper()
	hash, err := host.RequestHash("tool", "json", "", false, []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return hash
}

// Seen red with names ordered by code point.
func TestCanonicalForm(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ body, want string }{
		"white space":                        {" \t\r\n{ \"a\" : [ 1 , 2 ] } ", `{"a":[1,2]}`},
		"order of names":                     {`{"b":1,"a":2}`, `{"a":2,"b":1}`},
		"a prefix comes first":               {`{"aa":1,"a":2,"":3}`, `{"":3,"a":2,"aa":1}`},
		"names by UTF-16, not by code point": {`{"\ufb33":1,"😀":2,"\u20ac":3}`, "{\"€\":3,\"😀\":2,\"\ufb33\":1}"},
		"an escaped pair":                    {`"\ud83d\uDE00"`, `"😀"`},
		"needless escapes":                   {`"\u0041\/\u00fc"`, `"A/ü"`},
		"needed escapes":                     {`"\u0022\u005c\u0008\u000c\u000a\u000d\u0009\u0001\u001F"`, `"\"\\\b\f\n\r\t\u0001\u001f"`},
		"nothing escaped for HTML":           {`"\u003c\u2028"`, "\"<\u2028\""},
		"words":                              {`[null,true,false]`, `[null,true,false]`},
		"empty things":                       {`[[],{},""]`, `[[],{},""]`},
		"numbers of RFC 8785":                {`[1E30, 4.50, 2e-3, 0.000000000000000000000000001]`, `[1e+30,4.5,0.002,1e-27]`},
		"layout at the edges":                {`[1e20,1e21,123456789012345678901,0.000001,0.0000001,1.5e-7,12e1]`, `[100000000000000000000,1e+21,123456789012345678901,0.000001,1e-7,1.5e-7,120]`},
		"zeros":                              {`[0,-0,0.00,0e999999999999999999999,-0.0e-5]`, `[0,0,0,0,0]`},
		"what a double does not hold":        {`[9007199254740993,12345678901234.567,333333333.33333329]`, `[9007199254740993,12345678901234.567,333333333.33333329]`},
		"too large for a double":             {`[1e999999999,-1E+400,1e-400]`, `[1e+999999999,-1e+400,1e-400]`},
		"equal large numbers":                {`[100e398,0.0001e404]`, `[1e+400,1e+400]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			form, err := host.AppendCanonical(nil, []byte(row.body))
			if err != nil {
				t.Fatal(err)
			}
			if string(form) != row.want {
				t.Errorf("got %s, want %s", form, row.want)
			}
			if hashJSON(t, row.body) != hashJSON(t, row.want) {
				t.Error("the hashes differ")
			}
		})
	}
}

// encoding/json writes doubles as ECMAScript does, negative zero excepted.
func TestNumbersOfDoublesAreThoseOfECMAScript(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "f")
		want, err := json.Marshal(f)
		if err != nil || f == 0 {
			t.Skip("no number of JSON, or zero")
		}
		for _, format := range []byte("efgE") {
			text := strconv.FormatFloat(f, format, -1, 64)
			if got, err := host.AppendCanonical(nil, []byte(text)); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s became %s, %v, want %s", text, got, err, want)
			}
		}
	})
}

func TestRequestHashTellsApart(t *testing.T) {
	t.Parallel()
	type request struct {
		tool, typ, key string
		unknown        bool
		body           string
	}
	seen := map[host.Hash]request{}
	for _, r := range []request{
		{"a", "json", "", false, `{"n":1}`},
		{"b", "json", "", false, `{"n":1}`},
		{"a", "bytes", "", false, `{"n":1}`},
		{"a", "bytes", "", false, `{"n": 1}`},
		{"a", "json", "k", false, `{"n":1}`},
		{"a", "json", "", true, `{"n":1}`},
		{"a", "json", "", false, `{"n":"1"}`},
		{"a", "json", "", false, `{"n":9007199254740993}`},
		{"a", "json", "", false, `{"n":9007199254740992}`},
		{"a", "json", "", false, `{"n":1e400}`},
		{"a", "json", "", false, `{"n":1e401}`},
		{"a", "json", "", false, `{"n":0.1}`},
		{"a", "json", "", false, `{"n":0.10000000000000001}`},
		{"a", "json", "", false, `{"n":-1}`},
		{"a", "bytes", "", false, ""},
	} {
		hash, err := host.RequestHash(r.tool, r.typ, r.key, r.unknown, []byte(r.body))
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[hash]; ok {
			t.Errorf("%+v and %+v have one hash", r, other)
		}
		seen[hash] = r
	}
}

// Seen red with duplicate names and deep nesting allowed.
func TestRequestHashRefuses(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, body := range map[string]string{
		"nothing":                          "",
		"white space only":                 " ",
		"two values":                       "1 2",
		"a name twice":                     `{"a":1,"b":2,"a":1}`,
		"a name twice in two ways":         `{"a":1,"\u0061":1}`,
		"a high surrogate alone":           `"\ud83d"`,
		"a low surrogate alone":            `"\ude00"`,
		"a surrogate before another":       `"\ud83d\u0041"`,
		"two high surrogates":              `"\ud83d\ud83d"`,
		"a surrogate before a tab":         `"\ud83d\t"`,
		"a surrogate in UTF-8":             "\"\xed\xa0\xbd\"",
		"bytes that are not UTF-8":         "\"\xff\"",
		"a mark before the text":           "\ufeff1",
		"an unknown escape":                `"\x"`,
		"a short escape":                   `"\u12"`,
		"an escape with a sign":            `"\u+123"`,
		"a raw line feed":                  "\"\n\"",
		"a string that is not closed":      `"abc`,
		"a backslash at the end":           `"\`,
		"a comma too many in a list":       `[1,]`,
		"a comma too many in an object":    `{"a":1,}`,
		"no comma":                         `[1 2]`,
		"a list that is not closed":        `[1`,
		"an object that is not closed":     `{"a":1`,
		"a name without quotes":            `{a:1}`,
		"no colon":                         `{"a" 1}`,
		"no value":                         `{"a":}`,
		"a leading zero":                   `01`,
		"a plus":                           `+1`,
		"a point at the end":               `1.`,
		"a point at the start":             `.5`,
		"no exponent":                      `1e`,
		"a minus alone":                    `-`,
		"not a number":                     `NaN`,
		"a hexadecimal number":             `0x10`,
		"a word cut off":                   `tru`,
		"an exponent beyond all reason":    `1e99999999999999999999`,
		"an exponent below all reason":     `1e-99999999999999999999`,
		"a value nested too deep":          deep(host.MaxNesting + 1),
		"an object nested too deep":        strings.Repeat(`{"a":`, 1e6),
		"a null byte at the end of a list": "[1\x00",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := host.RequestHash("tool", "json", "", false, []byte(body))
			var bodyErr *host.BodyError
			if !errors.As(err, &bodyErr) {
				t.Fatalf("got %v, want a BodyError", err)
			}
			if bodyErr.Offset < 0 || bodyErr.Offset > len(body) {
				t.Errorf("offset %d", bodyErr.Offset)
			}
		})
	}
	hashJSON(t, deep(host.MaxNesting))
}

// FuzzRequestHash writes the same value in another way: with its names in
// another order, and with white space.
func FuzzRequestHash(f *testing.F) {
	for _, body := range []string{
		`{"a":[1,2.50,{"ü":"\u00fc","😀":null,"\ufb33":1e5}],"b":true,"":-0}`, `[1e999999999,9007199254740993]`, `"\ud83d"`, `{"a":1,"a":2}`,
	} {
		f.Add([]byte(body), uint64(1))
	}
	f.Fuzz(func(t *testing.T, body []byte, seed uint64) {
		want, err := host.RequestHash("tool", "json", "", false, body)
		if err != nil {
			var bodyErr *host.BodyError
			if !errors.As(err, &bodyErr) {
				t.Fatalf("not a BodyError: %v", err)
			}
			return
		}
		if !json.Valid(body) {
			t.Fatalf("took what is not JSON: %q", body)
		}
		other := rewrite(t, body, rand.New(rand.NewPCG(seed, 0)))
		if got := hashJSON(t, string(other)); got != want {
			t.Fatalf("%q and %q have two hashes", body, other)
		}
		form, err := host.AppendCanonical(nil, body)
		if err != nil {
			t.Fatal(err)
		}
		again, err := host.AppendCanonical(nil, form)
		if err != nil || !bytes.Equal(form, again) {
			t.Fatalf("%q, written again: %q, %v", form, again, err)
		}
	})
}

// rewrite shares no code with what it tests: it reads with encoding/json.
func rewrite(t *testing.T, body []byte, r *rand.Rand) []byte {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	var write func(value any)
	space := func() { out.WriteString(" \n\t\r"[:r.IntN(5)]) }
	write = func(value any) {
		space()
		switch value := value.(type) {
		case []any:
			out.WriteByte('[')
			for i, v := range value {
				if i > 0 {
					out.WriteByte(',')
				}
				write(v)
			}
			out.WriteByte(']')
		case map[string]any: // in a random order
			out.WriteByte('{')
			first := true
			for name, v := range value {
				if !first {
					out.WriteByte(',')
				}
				first = false
				write(name)
				out.WriteByte(':')
				write(v)
			}
			out.WriteByte('}')
		case json.Number:
			fmt.Fprint(&out, value)
		default:
			text, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			out.Write(text)
		}
		space()
	}
	write(value)
	return out.Bytes()
}
