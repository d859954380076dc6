package httptool

import (
	"net/http"

	"github.com/pawl-dev/pawl/host"
)

func (b *builder) key() {
	k := b.cfg.Key
	if k.Query != "" {
		b.fault("key.query", "a key in the query does not exist yet; use header or json")
	}
	if k.Format != "" && k.Format != "ulid" {
		b.fault("key.format", `%q does not exist yet; keys are written as "ulid" (26 characters of Crockford base32)`, k.Format)
	}
	if k.Window != "" {
		b.tool.contract.KeyWindow = b.duration("key.window", k.Window, host.NoKeyWindow)
	}
	if k.JSON == "" {
		b.keyInHeader(k.Header)
		return
	}
	p, err := parsePointer(k.JSON)
	switch {
	case err != nil:
		b.fault("key.json", "%v", err)
	case k.Header != "":
		b.fault("key.json", "the key goes into a header or into the body, not both")
	case !hasBody(b.tool.method):
		b.fault("key.json", "a %s has no body that could hold the key; use header", b.tool.method)
	}
	b.tool.keyInBody = p
}

func (b *builder) keyInHeader(name string) {
	if name == "" && !b.tool.isRead() {
		name = "Idempotency-Key"
	}
	canonical := http.CanonicalHeaderKey(name)
	switch {
	case name == "":
	case !validHeaderName(name), reserved[canonical]:
		b.fault("key.header", "%q cannot be the name of the key's header", name)
	default:
		for other := range b.cfg.Headers {
			if http.CanonicalHeaderKey(other) == canonical {
				b.faultAt("headers", other, "%s is the header of the key; remove it here", canonical)
			}
		}
	}
	b.tool.keyHeader = canonical
}
