package httpcall

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/steps"
)

// call makes the call that a request asks for.
func (t *Tool) call(s *steps.Step, req *http.Request, body []byte) (steps.Response, error) {
	var none steps.Response
	if err := t.checkHeaders(req.Header); err != nil {
		return none, err
	}
	fields, err := t.fields(req)
	if err != nil {
		return none, err
	}
	if !t.hasBody() {
		if len(body) > 0 {
			return none, t.refuse("a %s has no body, and the client gave one", t.method)
		}
		text, err := json.Marshal(fields)
		if err != nil {
			return none, t.refuse("%v", err)
		}
		return t.sendJSON.Call(s, text)
	}
	isJSON := len(body) > 0 && jsonType(req.Header.Get("Content-Type"))
	if isJSON && !json.Valid(body) {
		return none, t.refuse("the client's body is not the JSON that its Content-Type says")
	}
	if err := t.repeated(fields, body, isJSON); err != nil {
		return none, err
	}
	if isJSON {
		return t.sendJSON.Call(s, body)
	}
	return t.sendBytes.Call(s, body)
}

func (t *Tool) refuse(format string, args ...any) error {
	return &steps.CallError{Tool: t.id, Status: abi.Invalid, Code: "bad_request", Message: fmt.Sprintf(format, args...)}
}

func (t *Tool) checkHeaders(h http.Header) error {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if !slices.Contains(t.dropped, http.CanonicalHeaderKey(name)) {
			return t.refuse("the client's header %s would be lost: a tool sends its own headers; "+
				"let NewTool drop it, and have it in tools.toml if the receiver needs it", name)
		}
	}
	return nil
}

// fields are the wildcards of the path and the parameters of the query.
func (t *Tool) fields(req *http.Request) (map[string]string, error) {
	fields := map[string]string{}
	for _, name := range t.wildcards {
		fields[name] = req.PathValue(name)
	}
	query, err := url.ParseQuery(req.URL.RawQuery)
	if err != nil {
		return nil, t.refuse("the client's query: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch _, taken := fields[name]; {
		case taken:
			return nil, t.refuse("the parameter %s of the client's query has the name of a part of the path", name)
		case len(query[name]) > 1:
			return nil, t.refuse("the parameter %s is in the client's query %d times; a tool sends it once", name, len(query[name]))
		}
		fields[name] = query.Get(name)
	}
	return fields, nil
}

// repeated checks that a body has the fields that the tool's url needs.
func (t *Tool) repeated(fields map[string]string, body []byte, isJSON bool) error {
	var object map[string]json.RawMessage
	if isJSON {
		_ = json.Unmarshal(body, &object) // any other JSON has no fields
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if value, ok := object[name]; !ok || text(value) != fields[name] {
			return t.refuse("a %s sends its whole request as the body, so %s=%q of the client's url must be in the body too, and is not",
				t.method, name, fields[name])
		}
	}
	return nil
}

// text is a value as it stands in a url.
func text(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil && !bytes.Equal(value, []byte("null")) {
		return s
	}
	return string(value)
}

func jsonType(contentType string) bool {
	typ, _, err := mime.ParseMediaType(contentType)
	return err == nil && (typ == "application/json" || strings.HasSuffix(typ, "+json"))
}
