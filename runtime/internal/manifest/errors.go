package manifest

import (
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/host/tomlfile"
)

// Error is one mistake in a workflow's folder, with its place. [Load] returns
// all that it finds: errors.As gives the first.
type Error = tomlfile.Error

// SchemaError says why a document does not fit its JSON Schema.
type SchemaError struct {
	// Document is what was checked, such as "input" or "output of lookup".
	Document string
	// Problems are in the order of their pointers; at most 20.
	Problems []Problem
}

// Problem is one thing that does not fit.
type Problem struct {
	// Pointer is a JSON Pointer into the document; empty for the whole of it.
	Pointer string `json:"pointer"`
	Message string `json:"message"`
}

func (e *SchemaError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the %s does not fit its schema", e.Document)
	for i, p := range e.Problems {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		b.WriteString(sep)
		if p.Pointer != "" {
			b.WriteString(p.Pointer + ": ")
		}
		b.WriteString(p.Message)
	}
	return b.String()
}

// WithError says that a step's input could not be made.
type WithError struct {
	Step, Field string
	Err         error
}

func (e *WithError) Error() string {
	return fmt.Sprintf("input of %s: with.%s: %v", e.Step, e.Field, e.Err)
}

func (e *WithError) Unwrap() error { return e.Err }
