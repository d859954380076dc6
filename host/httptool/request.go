package httptool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
)

// sending is a request before its secrets are put in.
type sending struct {
	method string
	url    *url.URL
	key    string // the header that carries the key; empty for none
	value  string // the key
	body   []byte
}

// render makes the request of a call. Its error is a *RequestError.
func (t *tool) render(c *host.Call) (*sending, error) {
	s, err := t.tryRender(c)
	if err != nil {
		return nil, &RequestError{Tool: t.id, Message: err.Error()}
	}
	return s, nil
}

func (t *tool) tryRender(c *host.Call) (*sending, error) {
	if len(c.Body) > 0 && (c.Type != abi.TypeJSON || !validJSON(c.Body)) {
		return nil, errors.New("the request must be JSON")
	}
	s := &sending{method: t.method, key: t.keyHeader, value: c.Key.String()}
	var err error
	if s.url, err = t.url.expand(fields(c.Body).text); err != nil {
		return nil, err
	}
	if !hasBody(t.method) {
		return s, fields(c.Body).allUsed(t.method, t.url.names())
	}
	s.body = c.Body
	if t.keyInBody != nil {
		if s.body, err = t.keyInBody.put(c.Body, s.value); err != nil {
			return nil, fmt.Errorf("the tool puts its key into the request at /%s, which %w", strings.Join(t.keyInBody, "/"), err)
		}
	}
	return s, nil
}

// http makes the request that is sent; each can be used once. values are the
// secrets.
func (s *sending) http(headers map[string]template, values map[string]string) *http.Request {
	h := http.Header{"User-Agent": {"pawl"}}
	if len(s.body) > 0 {
		h.Set("Content-Type", "application/json")
	}
	for name, value := range headers {
		// Templates name only secrets that were read.
		text, _ := value.expand(func(secret string) (string, error) {
			return values[strings.TrimPrefix(secret, secretPrefix)], nil
		})
		setHeader(h, name, text)
	}
	if s.key != "" {
		setHeader(h, s.key, s.value)
	}
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
