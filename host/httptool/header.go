package httptool

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// reserved are the headers that say how the request itself is framed.
var reserved = map[string]bool{
	"Connection": true, "Content-Length": true, "Expect": true, "Host": true, "Keep-Alive": true,
	"Proxy-Connection": true, "Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

// validHeaderName reports whether s is a token of RFC 9110.
func validHeaderName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// validHeaderText reports whether s can be the value of a header.
func validHeaderText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func (b *builder) headers() {
	b.tool.headers, b.tool.secrets = map[string]template{}, secrets{}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(b.cfg.Headers)) {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !validHeaderName(name):
			b.faultAt("headers", name, "%q cannot be the name of a header", name)
		case reserved[canonical]:
			b.faultAt("headers", name, "%s is set by the request itself; remove it", canonical)
		case seen[canonical]:
			b.faultAt("headers", name, "%s is there twice, in another spelling", name)
		}
		seen[canonical] = true
		b.tool.headers[name] = b.headerValue(name, b.cfg.Headers[name])
	}
}

func (b *builder) headerValue(name, value string) template {
	t, err := parseTemplate(value)
	if err != nil {
		b.faultAt("headers", name, "%v", err)
	}
	if !validHeaderText(value) {
		b.faultAt("headers", name, "has a line break or another control character")
	}
	for _, place := range t.names() {
		secret, ok := strings.CutPrefix(place, secretPrefix)
		if !ok {
			b.faultAt("headers", name, "{%s}: a header takes only secrets, as in {secret.name}", place)
			continue
		}
		known, ok := b.known[secret]
		if !ok {
			b.faultAt("headers", name, "there is no secret %q%s", secret, among(slices.Sorted(maps.Keys(b.known))))
			continue
		}
		b.tool.secrets[secret] = known
	}
	return t
}

func among(names []string) string {
	if len(names) == 0 {
		return "; name it in the table [secret]"
	}
	return "; the table [secret] has " + strings.Join(names, ", ")
}
