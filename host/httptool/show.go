package httptool

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/host"
)

// keyPlace stands for the key in a request that is shown. Keys are made after
// what people approve, and differ where that does not.
const keyPlace = "{key}"

// Receiver implements [host.Receiving].
func (t *tool) Receiver() string {
	text := t.url.origin()
	if accounts := t.secrets.accounts(); len(accounts) > 0 {
		text += " (" + strings.Join(accounts, ", ") + ")"
	}
	return text
}

// Receiver implements [host.Receiving]. Who is asked elsewhere than where the
// call goes is named too: another one's "absent" is no evidence.
func (t *askable) Receiver() string {
	text := t.tool.Receiver()
	if asked := t.query.origin(); asked != t.url.origin() {
		text += ", asked at " + asked
	}
	return text
}

// Show implements [host.Shower]: the first line is the method, the URL and
// the accounts, then follow the headers in their order, an empty line and the
// body. Of a body that is not text there is the digest.
func (t *tool) Show(c *host.Call) ([]byte, error) {
	s, err := t.render(c, keyPlace)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for name := range t.secrets {
		names[name] = "{" + secretPrefix + name + "}"
	}
	var b bytes.Buffer
	b.WriteString(s.method + " " + s.url.String())
	if accounts := t.secrets.accounts(); len(accounts) > 0 {
		b.WriteString(" (" + strings.Join(accounts, ", ") + ")")
	}
	header := http.Header{}
	for name, value := range s.header(t.headers, names) {
		header[http.CanonicalHeaderKey(name)] = value
	}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		b.WriteString("\n" + name + ": " + header[name][0])
	}
	if !isText(s.body) {
		// Above the empty line, where no body can say the same.
		fmt.Fprintf(&b, "\na body of %d bytes, sha256:%x", len(s.body), sha256.Sum256(s.body))
		return b.Bytes(), nil
	}
	b.WriteString("\n\n")
	b.Write(s.body)
	return b.Bytes(), nil
}

// isText reports whether people can read b.
func isText(b []byte) bool {
	return utf8.Valid(b) && !bytes.ContainsFunc(b, func(r rune) bool {
		return !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r'
	})
}
