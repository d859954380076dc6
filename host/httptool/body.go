package httptool

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
)

// The ways to write a request.
const (
	bodyJSON = "json"
	bodyForm = "form"
	bodyRaw  = "raw"
)

// contentTypes are what the ways say of themselves.
var contentTypes = map[string]string{
	bodyJSON: "application/json",
	bodyForm: "application/x-www-form-urlencoded",
	bodyRaw:  "application/octet-stream",
}

func (b *builder) body() {
	t := b.tool
	switch t.body = b.cfg.Body; t.body {
	case "":
		t.body = bodyJSON
	case bodyJSON:
	case bodyForm, bodyRaw:
		if !hasBody(t.method) {
			b.fault("body", `a %s has no body; remove it, or choose another method`, t.method)
		}
	default:
		b.fault("body", `%q is no kind of body; write "json", "form" or "raw"`, t.body)
	}
	if t.body == bodyRaw && t.url != nil && len(t.url.names()) > 0 {
		b.fault("url", "{%s}: a raw body has no fields that could be put into the url", t.url.names()[0])
	}
}

// accepts says what is wrong with the type of a request.
func (t *tool) accepts(c *host.Call) error {
	switch {
	case len(c.Body) == 0:
		return nil
	case t.body == bodyRaw && c.Type != abi.TypeBytes:
		return errors.New("the tool sends raw bodies: the request must be bytes, not JSON")
	case t.body != bodyRaw && (c.Type != abi.TypeJSON || !validJSON(c.Body)):
		return errors.New("the request must be JSON")
	}
	return nil
}

// write makes the body of a request, with the key in it if it goes there.
func (t *tool) write(body []byte, key string) ([]byte, error) {
	if t.keyInBody != nil {
		var err error
		if body, err = t.keyInBody.put(body, key); err != nil {
			return nil, fmt.Errorf("the tool puts its key into the request at /%s, which %w", strings.Join(t.keyInBody, "/"), err)
		}
	}
	if t.body == bodyForm {
		return encodeForm(body)
	}
	return body, nil
}
