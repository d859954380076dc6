package httptool

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/pawl-dev/pawl/host"
)

func (b *builder) key() {
	k := b.cfg.Key
	switch k.Format {
	case "", "ulid":
	case host.KeyFormatUUID:
		b.tool.contract.KeyFormat = k.Format
	default:
		b.fault("key.format", `%q is no form of a key; write "ulid" (26 characters of Crockford base32) or "uuid"`, k.Format)
	}
	if k.Window != "" {
		b.tool.contract.KeyWindow = b.duration("key.window", k.Window, host.NoKeyWindow)
	}
	switch {
	case k.JSON != "" && (k.Header != "" || k.Query != ""):
		b.fault("key.json", "the key goes to one place: a header, the body or the query")
	case k.Query != "" && k.Header != "":
		b.fault("key.query", "the key goes to one place: a header, the body or the query")
	case k.JSON != "":
		b.keyInBody(k.JSON)
	case k.Query != "":
		b.keyInQuery(k.Query)
	default:
		b.keyInHeader(k.Header)
	}
}

func (b *builder) keyInBody(place string) {
	p, err := parsePointer(place)
	switch {
	case err != nil:
		b.fault("key.json", "%v", err)
	case !hasBody(b.tool.method):
		b.fault("key.json", "a %s has no body that could hold the key; use header or query", b.tool.method)
	case b.tool.body == bodyRaw:
		b.fault("key.json", "a raw body is sent as it is; use header or query")
	}
	b.tool.keyInBody = p
}

// keyInQuery refuses a name that the url may have already: receivers differ in
// which of two they read.
func (b *builder) keyInQuery(name string) {
	b.tool.keyQuery = name
	if b.tool.url == nil {
		return
	}
	for parameter := range strings.SplitSeq(b.tool.url.query.String(), "&") {
		other, _, _ := strings.Cut(parameter, "=")
		if strings.Contains(other, "{") {
			b.fault("key.query", "the url has a parameter whose name the step chooses, %s; it could be the key's", other)
		}
		if other, err := url.QueryUnescape(other); err != nil || other == name {
			b.fault("key.query", "the url has a parameter %q already", name)
		}
	}
}

// addParameter appends to a query. The key has no character that would have to
// be encoded.
func addParameter(u *url.URL, name, key string) {
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += escape(name) + "=" + key
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
