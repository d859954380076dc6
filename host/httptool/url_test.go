package httptool_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/host/httptool"
)

// A template keeps its shape whatever the values are: the same scheme, host,
// number of segments and parameters, and each value comes back as it was.
func FuzzURLTemplate(f *testing.F) {
	for _, v := range []string{"a", "", ".", "..", "a/b", "%2F", "?", "#", "&x=y", "+", "\r\n", "é", "\xff", "//evil.example", "@"} {
		f.Add(v, "z")
		f.Add("z", v)
	}
	const template = "https://x.example/v1/{a}/k-{b}?p={a}&q={b}"
	f.Fuzz(func(t *testing.T, a, b string) {
		text, err := httptool.ExpandURL(template, func(name string) string {
			return map[string]string{"a": a, "b": b}[name]
		})
		if err != nil {
			if a != "" && a != "." && a != ".." {
				t.Fatalf("refused: %v", err)
			}
			return
		}
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		segments := strings.Split(u.EscapedPath(), "/")
		if u.Scheme != "https" || u.Host != "x.example" || u.User != nil || u.Fragment != "" || len(segments) != 4 || strings.Count(u.RawQuery, "&") != 1 {
			t.Fatalf("%q and %q gave %s", a, b, text)
		}
		first, _ := url.PathUnescape(segments[2])
		second, _ := url.PathUnescape(segments[3])
		if first != a || second != "k-"+b || u.Query().Get("p") != a || u.Query().Get("q") != b {
			t.Fatalf("%q and %q came back as %q and %q from %s", a, b, first, second, text)
		}
		for _, c := range []byte(text) {
			if c <= ' ' || c >= 0x7f {
				t.Fatalf("the byte %q in %s", c, text)
			}
		}
	})
}

// Whatever a template's text is, it is refused or keeps to its host.
func FuzzURLText(f *testing.F) {
	for _, s := range []string{
		"https://x.example/{a}", "https://{a}/", "https://x.example", "http://x:1?{a}", "https://x.example/{a", "https://a@x/",
		"https:///{a}", "https://x.example/ä/{a}", "https://x.example/%zz{a}", "https://[::1]/{a}", "https://x\\@y/{a}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, template string) {
		plain, err := httptool.ExpandURL(template, func(string) string { return "x" })
		if err != nil {
			return
		}
		nasty, err := httptool.ExpandURL(template, func(string) string { return "a/../@evil.example:1/?#" })
		if err != nil {
			t.Fatalf("%q takes x and refuses another value: %v", template, err)
		}
		a, errA := url.Parse(plain)
		b, errB := url.Parse(nasty)
		if errA != nil || errB != nil || a.Scheme != b.Scheme || a.Host != b.Host || a.Host == "" ||
			strings.Count(a.EscapedPath(), "/") != strings.Count(b.EscapedPath(), "/") {
			t.Fatalf("%q gives %s and %s", template, plain, nasty)
		}
	})
}

// A key put into a body is there, and nothing else has changed.
func FuzzKeyInBody(f *testing.F) {
	f.Add(`{"a":1}`, "/id")
	f.Add(`{"a":{"b":[1.50,"<"]}}`, "/a/id")
	f.Add(`[]`, "/id")
	f.Add(`{"id":null}`, "/id")
	f.Add(`{}`, "/~0/~1")
	f.Add(`{}`, "/\xff") // no UTF-8: would come back as another name
	f.Fuzz(func(t *testing.T, body, path string) {
		if !json.Valid([]byte(body)) || !utf8.ValidString(body) {
			return
		}
		with, err := httptool.PutString(body, path, "KEY")
		if err != nil {
			return
		}
		if got, ok := httptool.GetPointer(with, path); !ok || got != `"KEY"` {
			t.Fatalf("%s in %s: %s at %s", path, body, got, with)
		}
		if _, err := httptool.PutString(with, path, "KEY"); err == nil && path != "" {
			t.Fatalf("%s was put into %s twice", path, with)
		}
	})
}
