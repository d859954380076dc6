package httptool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/host"
)

// sending is a request before its secrets are put in.
type sending struct {
	method string
	url    *url.URL
	key    string // the header that carries the key; empty for none
	value  string // the key
	typ    string // the type of the body, unless a header of the tool's says another
	body   []byte
	follow bool // redirects are followed
	away   bool // a redirect has led to another place than the tool's own
	asks   bool // it is a query about a key: an answer that somebody kept is none
}

// render makes the request of a call. Its error is a *RequestError.
func (t *tool) render(c *host.Call, key string) (*sending, error) {
	s, err := t.tryRender(c, key)
	if err != nil {
		return nil, &RequestError{Tool: t.id, Message: err.Error()}
	}
	return s, nil
}

func (t *tool) tryRender(c *host.Call, key string) (*sending, error) {
	err := t.accepts(c)
	if err != nil {
		return nil, err
	}
	s := &sending{method: t.method, key: t.keyHeader, value: key, typ: contentTypes[t.body]}
	s.follow = t.isRead() && t.method == http.MethodGet
	if s.url, err = t.url.expand(fields(c.Body).text); err != nil {
		return nil, err
	}
	if t.keyQuery != "" {
		addParameter(s.url, t.keyQuery, key)
	}
	if !hasBody(t.method) {
		return s, fields(c.Body).allUsed(t.method, t.url.names())
	}
	s.body, err = t.write(c.Body, key)
	return s, err
}

// header makes the request's header. values are the secrets.
func (s *sending) header(headers map[string]template, values map[string]string) http.Header {
	h := http.Header{"User-Agent": {"pawl"}}
	if len(s.body) > 0 {
		h.Set("Content-Type", s.typ)
	}
	if s.asks {
		h.Set("Cache-Control", "no-cache")
	}
	for name, value := range headers {
		if s.away && (!elsewhere[http.CanonicalHeaderKey(name)] || len(value.names()) > 0) {
			continue
		}
		// Templates name only secrets that were read.
		text, _ := value.expand(func(secret string) (string, error) {
			return values[strings.TrimPrefix(secret, secretPrefix)], nil
		})
		setHeader(h, name, text)
	}
	if s.key != "" && !s.away {
		setHeader(h, s.key, s.value)
	}
	return h
}

// http makes the request that is sent; each can be used once.
func (s *sending) http(h http.Header) *http.Request {
	req := &http.Request{
		Method: s.method, URL: s.url, Host: s.url.Host, Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	// A body without GetBody, even an empty one, keeps net/http from sending the
	// request again when a kept connection breaks. An empty one of a POST, PUT
	// or PATCH would go out chunked, which some receivers refuse: there the
	// header's spelling (see setHeader) does it. net/http knows this type as one
	// in memory and writes head and body at once: a receiver that answers and
	// closes before it has read the body resets the connection, and the answer
	// with it.
	if len(s.body) > 0 || !hasBody(s.method) {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(s.body)), int64(len(s.body))
	}
	return req
}

// setHeader sets a header. net/http takes a request with Idempotency-Key or
// X-Idempotency-Key for one that it may send again; under their lower-case
// names, which mean the same to the receiver, it does not know them.
func setHeader(h http.Header, name, value string) {
	name = http.CanonicalHeaderKey(name)
	if name == "Idempotency-Key" || name == "X-Idempotency-Key" {
		name = strings.ToLower(name)
	}
	h[name] = []string{value}
}

func hasBody(method string) bool { return method != "GET" && method != "DELETE" }

// fields is a request whose fields are looked up by name.
type fields json.RawMessage

// text returns a field as it is written into a URL.
func (f fields) text(name string) (string, error) {
	raw, ok := pointer(strings.Split(name, ".")).get(json.RawMessage(f))
	if !ok {
		return "", fmt.Errorf("the request has no field %s, which the url needs", name)
	}
	switch raw := bytes.TrimSpace(raw); kindOf(raw) {
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	case '{', '[', 'n':
		return "", fmt.Errorf("the field %s goes into the url and must be a string, a number or a boolean", name)
	default:
		return string(raw), nil
	}
}

// allUsed refuses what a request without a body would lose silently.
func (f fields) allUsed(method string, names []string) error {
	var object map[string]json.RawMessage
	if k := kindOf(f); k != 0 && json.Unmarshal(f, &object) != nil {
		return fmt.Errorf("a %s has no body: the request must be an object whose fields are in the url", method)
	}
	for _, field := range slices.Sorted(maps.Keys(object)) {
		used := slices.ContainsFunc(names, func(name string) bool {
			first, _, _ := strings.Cut(name, ".")
			return first == field
		})
		if !used {
			field = shorten(field, maxQuoted)
			return fmt.Errorf("the field %s would be lost: a %s has no body, and the url has no {%s}", field, method, field)
		}
	}
	return nil
}

// validJSON is stricter than encoding/json, which repairs what is not UTF-8.
func validJSON(b []byte) bool { return json.Valid(b) && utf8.Valid(b) }
