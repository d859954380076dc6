package httptool

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// FieldError says what is wrong with one field of a [Config].
type FieldError struct {
	// Path leads to the field, as in tools.toml: {"verify", "url"}.
	Path []string
	// Message is what is wrong and what to do.
	Message string
}

func (e *FieldError) Error() string {
	return strings.Join(e.Path, ".") + ": " + e.Message
}

// TablePath is Path, for a reader of tools.toml that wants to name the line.
func (e *FieldError) TablePath() []string { return e.Path }

// RequestError says why a request cannot be sent as it is. It is meant for the
// step's author.
type RequestError struct {
	Tool    string
	Message string
}

func (e *RequestError) Error() string { return e.Tool + ": " + e.Message }

// Requests and answers may have names and lines of megabytes, and messages are
// recorded.
const (
	maxQuoted  = 200  // bytes of a name or a place that a message quotes
	maxMessage = 1000 // bytes of a message that is not this package's own
)

// shorten returns at most the first limit bytes of a text from outside. Secrets
// must have been cut out before: half of one would not be found any more.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "..."
}

// failure is why a request brought no answer.
type failure struct {
	// sent says whether a byte of the request may have left.
	sent bool
	// refused is as in host.Answer: no call works until a person has acted.
	refused       bool
	code, message string
}

func (f *failure) Error() string { return fmt.Sprintf("%s: %s", f.code, f.message) }
