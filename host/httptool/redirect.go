package httptool

import (
	"net/http"
	"net/url"
	"strings"
)

// maxRedirects bounds the places that a read is sent on to.
const maxRedirects = 5

// follows reports whether an answer of this status sends a request on. What the
// operator has given a meaning of its own does not.
func (t *tool) follows(s *sending, status int) bool {
	if _, ok := t.outcomes[status]; ok || !s.follow {
		return false
	}
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// onward returns the request that a redirect asks for, or why it is not sent.
// The address that it leads to is checked when it is dialled, like every other.
func (s *sending) onward(location string) (next *sending, why string) {
	u, err := s.url.Parse(location)
	switch {
	case location == "":
		return nil, "it does not say where to"
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, "it leads to no http or https URL"
	case s.url.Scheme == "https" && u.Scheme != "https":
		return nil, "it leads from https to http"
	case u.User != nil:
		return nil, "its URL has a user or password"
	}
	u.Fragment, u.RawFragment = "", ""
	return &sending{
		method: s.method, url: u, key: s.key, value: s.value, follow: true,
		// Once away always away: who is elsewhere must not choose what is read
		// here with the credentials for here.
		away: s.away || origin(u) != origin(s.url),
	}, ""
}

// origin is scheme, host and port of a URL, equal for equal places.
func origin(u *url.URL) string {
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return u.Scheme + "://" + strings.TrimSuffix(host, ":")
}

// elsewhere are the headers that another place than the tool's own gets. All
// others may be credentials or tell what only the own place may know.
var elsewhere = map[string]bool{"Accept": true, "Accept-Language": true}

// place names a URL for people without its query, which may be a ticket of the
// receiver's. Secrets are looked for in the decoded text: there are many ways to
// encode a path.
func place(u *url.URL, cut *cutter) string {
	text := u.Path
	if u.Host != "" {
		text = u.Scheme + "://" + u.Host + u.Path
	}
	return shorten(cut.text(text), maxQuoted)
}
