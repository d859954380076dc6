package httptool_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/host/httptool"
)

// Of values that overlap nothing is left, and what only looks like an encoding
// stays.
// Seen red with one value taken out after the other, and with a search that
// goes on behind what it has found.
func TestCutting(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, text, want string }{
		{"two that overlap", "<abcd1234efgh>", "<[secret one]>"},
		{"one that overlaps itself", "<xy1xy1xy1xy>", "<[secret loop]>"},
		{"one after the other", "abcd12341234efgh", "[secret one][secret two]"},
		{"all percent-encoded", "%61%62%63%64%31%32%33%34", "[secret one]"},
		{"partly, in both cases", "a%62cd%31234/%2f%2F", "[secret one]/%2f%2F"},
		{"with a space as a plus", "with+a+sp%61ce", "[secret space]"},
		{"with a space as it is", "with%20a space", "[secret space]"},
		{"with a plus in it", "1%2B1+is+2, 1+1+is+2 and 1%2b1%20is%202", "[secret plus], 1+1+is+2 and [secret plus]"},
		{"base64 within a URL", url.QueryEscape(base64.StdEncoding.EncodeToString([]byte("??>" + "abcd1234"))), "Pz8%2B[secret one]Q%3D"},
		{"no encoding", "100%, %zz, %6", "100%, %zz, %6"},
	} {
		got := httptool.Cut(row.text, map[string]string{"one": "abcd1234", "two": "1234efgh", "loop": "xy1xy1xy", "space": "with a space", "plus": "1+1 is 2"})
		if got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}

// Whatever the value, whatever is around it and whatever encoder wrote it: it
// is cut out.
func FuzzCut(f *testing.F) {
	for how := range len(encoders) {
		f.Add("s3cr3t", "u:", "@x", uint8(how), uint64(7))
		f.Add(`a/+" é<&>`, "", "--", uint8(how), uint64(0xaaaa))
		f.Add("aaaaaaaa", "a", "aa", uint8(how), uint64(0))
		f.Add("tok\xff\xfe12", "%", "+", uint8(how), uint64(1))
	}
	f.Fuzz(func(t *testing.T, secret, before, after string, how uint8, bits uint64) {
		for i := range len(secret) {
			if secret[i] < ' ' && secret[i] != '\t' || secret[i] == 0x7f {
				return
			}
		}
		if len(secret) < 6 || len(secret) > 200 || strings.Contains("[secret token][secret token]", secret) {
			return
		}
		if int(how)%len(encoders) == len(encoders)-1 && !utf8.ValidString(secret) {
			return // JSON has no such text
		}
		text, leak := encoders[int(how)%len(encoders)](secret, before, after, bits)
		if !strings.Contains(text, leak) || len(leak) < 6 {
			t.Fatalf("%q is not in %q", leak, text)
		}
		if got := httptool.Cut(text, map[string]string{"token": secret}); strings.Contains(got, leak) || !strings.Contains(got, "[secret token]") {
			t.Fatalf("%q is in %q, from %q", leak, got, text)
		}
	})
}

// encoders write a secret with something around it, and say what of that is the
// secret alone.
var encoders = []func(secret, before, after string, bits uint64) (text, leak string){
	func(secret, before, after string, _ uint64) (string, string) { return before + secret + after, secret },
	inBase64(base64.StdEncoding), inBase64(base64.RawStdEncoding), inBase64(base64.URLEncoding), inBase64(base64.RawURLEncoding),
	func(secret, before, after string, bits uint64) (string, string) {
		leak := percent(secret, bits, "%%%02X", false)
		return url.QueryEscape(before) + leak + url.QueryEscape(after), leak
	},
	func(secret, before, after string, bits uint64) (string, string) {
		leak := percent(secret, bits, "%%%02x", true)
		return url.QueryEscape(before) + leak + url.QueryEscape(after), leak
	},
	func(secret, before, after string, bits uint64) (string, string) {
		leak := escapedJSON(secret, bits)
		return `{"e":"` + escapedJSON(before, 0) + leak + escapedJSON(after, 0) + `"}`, leak
	},
}

// inBase64 leaves away the characters that the neighbours have a part in.
func inBase64(e *base64.Encoding) func(secret, before, after string, bits uint64) (string, string) {
	return func(secret, before, after string, _ uint64) (string, string) {
		text := e.EncodeToString([]byte(before + secret + after))
		return text, text[(len(before)*8+5)/6 : (len(before)+len(secret))*8/6]
	}
}

// percent encodes the characters that the bits say, and those that must be.
func percent(s string, bits uint64, format string, plus bool) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ' && plus:
			b.WriteByte('+')
		case bits>>(i%64)&1 == 1 || c == '%' || c == '+' || c <= ' ' || c >= 0x7f:
			fmt.Fprintf(&b, format, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// escapedJSON writes the letters that the bits say as \u00e9.
func escapedJSON(s string, bits uint64) string {
	var b bytes.Buffer
	for i, r := range strings.ToValidUTF8(s, "") {
		quoted, _ := json.Marshal(string(r))
		if bits>>(i%64)&1 == 1 && r < 0x10000 {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.Write(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}
