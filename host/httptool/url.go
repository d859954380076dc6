package httptool

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// urlTemplate is a URL whose path and query hold places for values. Its scheme
// and host are fixed: a step never chooses whom it reaches.
type urlTemplate struct {
	base        string // scheme://host
	path, query template
	hasQuery    bool
}

func parseURL(s string) (*urlTemplate, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || (scheme != "http" && scheme != "https") {
		return nil, errors.New("must begin with https:// or http://")
	}
	if strings.Contains(rest, "#") {
		return nil, errors.New("a fragment (#) never reaches the receiver; remove it")
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	if host := rest[:end]; strings.ContainsAny(host, "{}") {
		return nil, errors.New("a field of the request may not choose the host; write one tool for each host")
	}
	u := &urlTemplate{base: scheme + "://" + rest[:end]}
	path, query, hasQuery := strings.Cut(rest[end:], "?")
	if path == "" {
		path = "/"
	}
	u.hasQuery = hasQuery
	var err error
	if u.path, err = parseTemplate(path); err != nil {
		return nil, err
	}
	if u.query, err = parseTemplate(query); err != nil {
		return nil, err
	}
	return u, u.check()
}

// check expands the template with a harmless value.
func (u *urlTemplate) check() error {
	parsed, err := u.expand(func(string) (string, error) { return "x", nil })
	if err != nil {
		return err
	}
	if parsed.User != nil {
		return errors.New(`a user or password does not belong here; write headers = { Authorization = "Basic {secret.name}" }`)
	}
	if parsed.Hostname() == "" {
		return errors.New("has no host")
	}
	return nil
}

// origin is where the request goes, equal for equal places.
func (u *urlTemplate) origin() string {
	base, err := url.Parse(u.base)
	if err != nil { // check has parsed it
		return u.base
	}
	return origin(base)
}

func (u *urlTemplate) names() []string { return append(u.path.names(), u.query.names()...) }

// identity is the part of the URL that says what is done, without where.
func (u *urlTemplate) identity() string {
	if !u.hasQuery {
		return u.path.String()
	}
	return u.path.String() + "?" + u.query.String()
}

// expand puts in the values, percent-encoded, so that each stays within its
// segment of the path or its part of the query.
func (u *urlTemplate) expand(value func(name string) (string, error)) (*url.URL, error) {
	escaped := func(name string) (string, error) {
		v, err := value(name)
		return escape(v), err
	}
	path, err := u.path.expand(escaped)
	if err != nil {
		return nil, err
	}
	query, err := u.query.expand(escaped)
	if err != nil {
		return nil, err
	}
	if err := u.checkSegments(path); err != nil {
		return nil, err
	}
	text := u.base + path
	if u.hasQuery {
		text += "?" + query
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("is no valid URL")
	}
	// net/url re-encodes what it thinks is not encoded well, and would then
	// write %2F as a slash: such a URL is refused, not repaired.
	if parsed.EscapedPath() != path || parsed.RawQuery != query {
		return nil, errors.New("has a character that must be percent-encoded in a URL")
	}
	return parsed, nil
}

// checkSegments refuses a path that receivers would shorten. Only segments of
// the template count: a value cannot add any.
func (u *urlTemplate) checkSegments(path string) error {
	templates := strings.Split(u.path.String(), "/")
	for i, segment := range strings.Split(path, "/") {
		if i < len(templates) && !strings.Contains(templates[i], "{") {
			continue
		}
		if segment == "" || segment == "." || segment == ".." {
			return fmt.Errorf("the segment %s of the url's path becomes %q, which names another place", templates[min(i, len(templates)-1)], segment)
		}
	}
	return nil
}

const hexDigits = "0123456789ABCDEF"

// escape percent-encodes everything but the unreserved characters of RFC 3986.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
	}
	return b.String()
}
