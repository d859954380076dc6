package web_test

import (
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/web"
)

// What is typed into a form becomes the input that was meant.
//
// Seen red with empty fields sent as empty texts, with an object made that was
// left empty, and with numbers that went through a float.
func TestFormBecomesInput(t *testing.T) {
	t.Parallel()
	order, err := os.ReadFile("testdata/guest/schema/order.json")
	if err != nil {
		t.Fatal(err)
	}
	required := `"in/order":"W1","in/amount":"12","in/queue":"\"normal\""`
	const object = `{"type":"object","required":["a"],"properties":{"a":%}}`
	for name, row := range map[string]struct {
		schema, form, want string // want is empty if the form cannot be read
	}{
		"what is required alone": {string(order), `{` + required + `}`, `{"order":"W1","amount":12,"queue":"normal"}`},
		"everything": {
			string(order), `{` + required + `,"in/express":"false","in/share":"0.5","in/address/city":"Ulm","in/items":"a\r\n b \n\n","in/say":"x\r\ny","in/extra":"[1]"}`,
			`{"order":"W1","amount":12,"queue":"normal","express":false,"share":0.5,"address":{"city":"Ulm"},"items":["a","b"],"say":"x\ny","extra":[1]}`,
		},
		"a required one is empty":          {string(order), `{"in/order":" ","in/amount":"12","in/queue":"\"normal\""}`, ""},
		"a value that is none of the list": {string(order), `{"in/order":"W1","in/amount":"12","in/queue":"\"other\""}`, ""},
		"no number":                        {string(order), `{"in/order":"W1","in/amount":"twelve","in/queue":"\"normal\""}`, ""},
		"a number in quotes":               {string(order), `{"in/order":"W1","in/amount":"\"12\"","in/queue":"\"normal\""}`, ""},
		"a large number stays exact":       {strings.Replace(object, "%", `{"type":"integer"}`, 1), `{"in/a":"+9007199254740993"}`, `{"a":9007199254740993}`},
		"a box that is not ticked":         {strings.Replace(object, "%", `{"type":"boolean"}`, 1), `{}`, `{"a":false}`},
		"a box that is ticked":             {strings.Replace(object, "%", `{"type":"boolean"}`, 1), `{"in/a":"true"}`, `{"a":true}`},
		"values of a list that are no texts": {
			strings.Replace(object, "%", `{"enum":[1,null,"x"]}`, 1), `{"in/a":"null"}`, `{"a":null}`,
		},
		"a required object that is empty": {strings.Replace(object, "%", `{"type":"object","properties":{"b":{"type":"string"}}}`, 1), `{}`, `{"a":{}}`},
		"a name with a slash":             {`{"type":"object","properties":{"a/b":{"type":"string"}}}`, `{"in/a~1b":"x"}`, `{"a/b":"x"}`},
		"a reference":                     {`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`, `{"in/a":"3"}`, `{"a":3}`},
		"a reference in a circle":         {`{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`, `{"in/a":"[3]"}`, `{"a":[3]}`},
		"what a form cannot say":          {`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"integer"}]}}}`, `{"in/a":"\"x\""}`, `{"a":"x"}`},
		"no schema":                       {``, `{"json":" {\"a\":1} "}`, `{"a":1}`},
		"an array":                        {`{"type":"array"}`, `{"json":"[1]"}`, `[1]`},
		"no JSON":                         {``, `{"json":"{a}"}`, ""},
		"nothing":                         {``, `{"json":""}`, ""},
	} {
		var typed map[string]string
		if err := json.Unmarshal([]byte(row.form), &typed); err != nil {
			t.Fatal(name, err)
		}
		form := url.Values{}
		for k, v := range typed {
			form.Set(k, v)
		}
		got, ok := web.Input(json.RawMessage(row.schema), form)
		if ok != (row.want != "") {
			t.Errorf("%s: %v, %s", name, ok, got)
			continue
		}
		if ok && canonical(t, string(got)) != canonical(t, row.want) {
			t.Errorf("%s: %s", name, cmp.Diff(row.want, string(got)))
		}
	}
}

// canonical sorts the names of objects and leaves numbers as they are written.
func canonical(t *testing.T, text string) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(text, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Browsers are given only the patterns that they read as JSON Schema does.
//
// Seen red with every pattern given to them.
func TestHTMLPattern(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		`^W[0-9]{1,9}$`: `W[0-9]{1,9}`, `^(a|b)+$`: `(a|b)+`, `^\d\d$`: `\d\d`,
		`W[0-9]`: ``, `^W`: ``, `^a|b$`: ``, `^[a-z0-9-]+$`: ``, `^[^x]$`: ``, `^\p{L}$`: ``, `^a$b$`: ``,
	} {
		if got := web.HTMLPattern(pattern); got != want {
			t.Errorf("%s: %q", pattern, got)
		}
	}
}

// Garbage for a schema makes a form for JSON, and no panic.
func FuzzSchema(f *testing.F) {
	for _, seed := range []string{`{"type":"object","properties":{"a":{"$ref":"#/a"}},"a":{"$ref":"#/a"}}`, `{"properties":[]}`, `{"type":["object"]}`, `{"type":"object","properties":{"":{"enum":[{}]}}}`} {
		f.Add(seed, "x")
	}
	f.Fuzz(func(t *testing.T, schema, typed string) {
		if !json.Valid([]byte(schema)) {
			return // an engine deploys none
		}
		input, ok := web.Input(json.RawMessage(schema), url.Values{"json": {typed}, "in/a": {typed}, "in/": {typed}})
		if ok && !json.Valid(input) {
			t.Errorf("%s", input)
		}
	})
}
