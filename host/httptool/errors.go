package httptool

import (
	"fmt"
	"strings"
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

// failure is why a request brought no answer.
type failure struct {
	// sent says whether a byte of the request may have left.
	sent          bool
	code, message string
}

func (f *failure) Error() string { return fmt.Sprintf("%s: %s", f.code, f.message) }
