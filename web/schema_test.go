package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
)

// An input of which a form would have more fields than anybody fills in is
// written as JSON, and making its page takes no longer than reading its schema.
//
// Seen red without the bound of fields.
func TestSchemasOfManyFields(t *testing.T) {
	t.Parallel()
	props := func(n int, of string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"p%d":%s`, i, of)
		}
		return "{" + b.String()[1:] + "}"
	}
	for name, row := range map[string]struct {
		schema string
		form   bool
	}{
		"as many as a form can have": {`{"type":"object","properties":` + props(200, `{"type":"string"}`) + `}`, true},
		"one more":                   {`{"type":"object","properties":` + props(201, `{"type":"string"}`) + `}`, false},
		"references to one thing": {
			`{"type":"object","$defs":{"x":{"type":"string"}},"properties":` + props(5000, `{"$ref":"#/$defs/x"}`) + `}`, false,
		},
		"an object within itself": {
			`{"$ref":"#/$defs/x","$defs":{"x":{"type":"object","properties":` + props(60, `{"$ref":"#/$defs/x"}`) + `}}}`, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			folder := guest(t)
			folder["schema/order.json"] = &fstest.MapFile{Data: []byte(row.schema)}
			f.deploy(folder)
			page := serve(t, f.engine, nil).get("workflows/refund/start").want(t, http.StatusOK)
			if form := strings.Contains(string(page.body), `name="in/p0"`); form != row.form || form == strings.Contains(string(page.body), `name="json"`) {
				t.Errorf("a field of its own: %t", form)
			}
			if len(page.body) > 1<<20 {
				t.Errorf("the page has %d bytes", len(page.body))
			}
		})
	}
}
