package standin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

const maxBody = 16 << 20

// request is one that came in.
type request struct {
	*http.Request
	id     string // of the tool, or of its question
	tool   *Tool
	asks   bool
	key    string
	uri    string // without the prefix
	sent   []byte // the body as it came
	body   []byte // JSON without spaces
	fields map[string]any
}

// Asked is what a request is about.
type Asked struct {
	Tool string // its id
	// Question says that it is one about a key.
	Question bool
	Key      string // of a request; empty if it has none
	// URI is the path and query behind the tool's address here.
	URI  string
	Body []byte
}

// Read makes out what a request to the address of a tool is about, for those
// who pass it on instead of answering it.
func Read(p *Plan, r *http.Request) (*Asked, error) {
	q, err := read(p, r)
	if err != nil {
		return nil, err
	}
	return &Asked{q.id, q.asks, q.key, q.uri, q.sent}, nil
}

// read makes out what a request is about.
func read(p *Plan, r *http.Request) (*request, error) {
	q := &request{Request: r}
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), DoPrefix)
	if !ok {
		if rest, q.asks = strings.CutPrefix(r.URL.EscapedPath(), AskPrefix); !q.asks {
			return nil, fmt.Errorf("nothing is at %s", r.URL.Path)
		}
	}
	id, path, _ := strings.Cut(rest, "/")
	if q.id, q.tool = id, p.Tools[id]; q.tool == nil {
		return nil, fmt.Errorf("there is no tool %q", id)
	}
	q.uri = "/" + path
	if r.URL.RawQuery != "" {
		q.uri += "?" + r.URL.RawQuery
	}
	var err error
	if q.sent, err = io.ReadAll(io.LimitReader(r.Body, maxBody)); err != nil {
		return nil, err
	}
	q.body = q.sent
	q.fields = q.bodyFields()
	q.addressFields()
	q.key = q.findKey()
	q.fields["key"] = q.key
	return q, nil
}

// bodyFields are those of a JSON object or of a form.
func (q *request) bodyFields() map[string]any {
	fields := map[string]any{}
	if strings.HasPrefix(q.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		form, err := url.ParseQuery(string(q.body))
		for name := range form {
			if err == nil {
				fields[name] = form.Get(name)
			}
		}
		return fields
	}
	var compact bytes.Buffer
	if json.Compact(&compact, q.body) == nil {
		q.body = compact.Bytes()
		d := json.NewDecoder(bytes.NewReader(q.body))
		d.UseNumber()
		if err := d.Decode(&fields); err != nil || fields == nil {
			return map[string]any{} // no object: nothing of it has a name
		}
	}
	return fields
}

// addressFields are those that stand in the address. What the body has counts
// first: it knows their types.
func (q *request) addressFields() {
	var pattern strings.Builder
	var names []string
	at := 0
	for _, m := range place.FindAllStringIndex(q.tool.Path, -1) {
		pattern.WriteString(regexp.QuoteMeta(q.tool.Path[at:m[0]]) + "([^/?&]*)")
		names = append(names, q.tool.Path[m[0]+1:m[1]-1])
		at = m[1]
	}
	pattern.WriteString(regexp.QuoteMeta(q.tool.Path[at:]))
	found := regexp.MustCompile("^" + pattern.String()).FindStringSubmatch(q.uri)
	for i, name := range names {
		if found == nil || q.fields[name] != nil {
			continue
		}
		if text, err := url.QueryUnescape(strings.ReplaceAll(found[i+1], "+", "%2B")); err == nil {
			q.fields[name] = text
		}
	}
}

func (q *request) findKey() string {
	switch {
	case q.asks:
		return q.URL.Query().Get(KeyParameter)
	case q.tool.Query != "":
		return q.URL.Query().Get(q.tool.Query)
	case q.tool.Header != "":
		return q.Header.Get(q.tool.Header)
	case q.tool.Pointer != "":
		var v any = q.fields
		for part := range strings.SplitSeq(strings.TrimPrefix(q.tool.Pointer, "/"), "/") {
			m, _ := v.(map[string]any)
			v = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		}
		key, _ := v.(string)
		return key
	}
	return ""
}

// name is how the ledger and faults call it.
func (q *request) name() string {
	if q.asks {
		return q.id + ".verify"
	}
	return q.id
}
