package httptool_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/host/httptool"
)

// Seen red with numbers read as doubles, and with null, empty lists and empty
// objects left out.
func TestForms(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 2000) + "1" + strings.Repeat("}", 2000)
	wide := `{"` + strings.Repeat("n", 4000) + `":[` + strings.Repeat("1,", 9000) + "1]}"
	for _, row := range []struct{ name, object, want, refused string }{
		{name: "words", object: `{"b":"x","a":"y z"}`, want: "b=x&a=y+z"},
		{name: "numbers keep their digits", object: `{"n":12345678901234567890,"f":1.50,"e":1e3,"m":-0}`, want: "n=12345678901234567890&f=1.50&e=1e3&m=-0"},
		{name: "truth", object: `{"a":true,"b":false}`, want: "a=true&b=false"},
		{name: "an object", object: `{"card":{"exp":{"year":2026}}}`, want: "card%5Bexp%5D%5Byear%5D=2026"},
		{name: "a list", object: `{"items":[{"id":"a"},{"id":"b"}],"tags":["x",["y"]]}`, want: "items%5B0%5D%5Bid%5D=a&items%5B1%5D%5Bid%5D=b&tags%5B0%5D=x&tags%5B1%5D%5B0%5D=y"},
		{name: "characters that mean something", object: `{"a&b":"c=d&e","p":"1+1","q":"ü\r\n%"}`, want: "a%26b=c%3Dd%26e&p=1%2B1&q=%C3%BC%0D%0A%25"},
		{name: "an empty word", object: `{"a":""}`, want: "a="},
		{name: "nothing", object: `{}`},
		{name: "no request", object: ``},
		{name: "null", object: `{"a":{"b":null}}`, refused: "the field a[b] is null"},
		{name: "an empty list", object: `{"a":[]}`, refused: "the field a is empty and would be lost"},
		{name: "an empty object", object: `{"a":[{}]}`, refused: "the field a[0] is empty and would be lost"},
		{name: "a name with brackets", object: `{"a[b]":1}`, refused: `the name "a[b]" cannot be in a form`},
		{name: "a name of nothing", object: `{"a":{"":1}}`, refused: `the name "" cannot be in a form`},
		{name: "a name twice", object: `{"a":1,"a":2}`, refused: `the name "a" is there twice`},
		{name: "a list on top", object: `[1]`, refused: "must be an object"},
		{name: "a word on top", object: `"a=b"`, refused: "must be an object"},
		{name: "too deep", object: deep, refused: "bytes of names"},
		{name: "too long", object: wide, refused: "more than 8388608 bytes"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := httptool.EncodeForm(row.object)
			if row.refused != "" {
				if err == nil || !strings.Contains(err.Error(), row.refused) || len(err.Error()) > 400 {
					t.Errorf("%.300v, want %q", err, row.refused)
				}
				return
			}
			if err != nil || got != row.want {
				t.Errorf("%s, %v; want %s", got, err, row.want)
			}
		})
	}
}

// What a form's reader finds is what was in the object, and nothing else.
func FuzzForm(f *testing.F) {
	for _, s := range []string{
		`{"a":1}`, `{"a":{"b":["x",true,1.50]}}`, `{"a&b":"c=d","é":"\r\n+%"}`, `{"a[b]":1}`, `{"a":null}`, `{"a":[[1],[2]]}`,
		`{"a":"\ud800"}`, `{"a":[{}]}`, `[1]`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, object string) {
		if !json.Valid([]byte(object)) {
			return
		}
		text, err := httptool.EncodeForm(object)
		if err != nil {
			return
		}
		got, err := url.ParseQuery(text)
		if err != nil {
			t.Fatalf("%q is no form: %v", text, err)
		}
		want := url.Values{}
		dec := json.NewDecoder(strings.NewReader(object))
		dec.UseNumber()
		var value any
		if err := dec.Decode(&value); err != nil {
			t.Fatal(err)
		}
		flatten(want, "", value)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s became %s: %s", object, text, diff)
		}
	})
}

func flatten(into url.Values, name string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for field, inner := range v {
			if name != "" {
				field = name + "[" + field + "]"
			}
			flatten(into, field, inner)
		}
	case []any:
		for i, inner := range v {
			flatten(into, fmt.Sprintf("%s[%d]", name, i), inner)
		}
	default:
		into.Add(name, fmt.Sprint(v))
	}
}

func TestHowARequestIsWritten(t *testing.T) {
	t.Parallel()
	c := call("")
	ulid, uuid := c.Key.String(), c.Key.UUID()
	for _, row := range []struct {
		name       string
		cfg        httptool.Config
		typ, body  string
		uri, sent  string
		contents   string // the Content-Type
		header, id string
	}{
		{"a form", httptool.Config{Body: "form"}, abi.TypeJSON, `{"a":{"b":1}}`, "/things", "a%5Bb%5D=1", "application/x-www-form-urlencoded", "Idempotency-Key", ulid},
		{"a form with its key", httptool.Config{Body: "form", Key: httptool.Key{JSON: "/meta/id", Format: "uuid"}}, abi.TypeJSON, `{"a":1}`, "/things", "a=1&meta%5Bid%5D=" + uuid, "application/x-www-form-urlencoded", "", ""},
		{"a form with fields in the url", httptool.Config{Body: "form", URL: "/o/{a}"}, abi.TypeJSON, `{"a":1}`, "/o/1", "a=1", "application/x-www-form-urlencoded", "Idempotency-Key", ulid},
		{"bytes", httptool.Config{Body: "raw"}, abi.TypeBytes, "\x00\xff{", "/things", "\x00\xff{", "application/octet-stream", "Idempotency-Key", ulid},
		{"bytes of a type", httptool.Config{Body: "raw", Headers: map[string]string{"Content-Type": "text/csv"}}, abi.TypeBytes, "a;b\n", "/things", "a;b\n", "text/csv", "Idempotency-Key", ulid},
		{"no bytes", httptool.Config{Body: "raw"}, abi.TypeBytes, "", "/things", "", "", "Idempotency-Key", ulid},
		{"a key as a UUID", httptool.Config{Key: httptool.Key{Format: "uuid"}}, abi.TypeJSON, `{}`, "/things", `{}`, "application/json", "Idempotency-Key", uuid},
		{"a key in the query", httptool.Config{Key: httptool.Key{Query: "message id"}}, abi.TypeJSON, `{}`, "/things?message%20id=" + ulid, `{}`, "application/json", "", ""},
		{"a key beside other parameters", httptool.Config{URL: "/o?a={a}&keys=1", Key: httptool.Key{Query: "key", Format: "uuid"}}, abi.TypeJSON, `{"a":"x&key=1"}`, "/o?a=x%26key%3D1&keys=1&key=" + uuid, `{"a":"x&key=1"}`, "application/json", "", ""},
		{"a key in an empty query", httptool.Config{URL: "/o?", Key: httptool.Key{Query: "key", Format: "ulid"}}, abi.TypeJSON, `{}`, "/o?key=" + ulid, `{}`, "application/json", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			address, got := recorder(t)
			tool := toward(t, host.Keyed, address, row.cfg)
			c := call(row.body)
			c.Type = row.typ
			if a := tool.Try(t.Context(), c); a.Outcome != applied {
				t.Fatalf("%+v", a)
			}
			r := got()
			if r.uri != row.uri || r.body != row.sent || r.header.Get("Content-Type") != row.contents {
				t.Errorf("the receiver saw %s, %q of %q", r.uri, r.body, r.header.Get("Content-Type"))
			}
			if id := r.header.Get("Idempotency-Key"); id != row.id {
				t.Errorf("key %q, want %q", id, row.id)
			}
		})
	}
}

func TestBytesAreAskedForByTheirKey(t *testing.T) {
	t.Parallel()
	address, got := recorder(t)
	tool := toward(t, host.Verify, address, httptool.Config{
		Body: "raw", Key: httptool.Key{Format: "uuid"}, Verify: &httptool.Verify{URL: "/files/{key}"},
	})
	c := call("not JSON")
	c.Type = abi.TypeBytes
	if v := tool.(host.Verifier).Verify(t.Context(), c); v.Kind != host.Found {
		t.Fatalf("%+v", v)
	}
	if r := got(); r.uri != "/files/"+c.Key.UUID() {
		t.Errorf("asked %s", r.uri)
	}
	c = call(`{"a":1}`)
	if a := tool.Try(t.Context(), c); a.Outcome != rejected || !strings.Contains(a.Message, "must be bytes, not JSON") {
		t.Errorf("%+v", a)
	}
}
