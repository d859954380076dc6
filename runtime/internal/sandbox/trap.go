package sandbox

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero/sys"
)

// goPanicStatus is the exit status of a Go program that died.
const goPanicStatus = 2

// wasmTraps are wazero's texts, which it exports no values for.
var wasmTraps = map[string]string{
	"unreachable":                 TrapUnreachable,
	"stack overflow":              TrapStackOverflow,
	"out of bounds memory access": TrapOutOfBounds,
	"integer divide by zero":      TrapDivideByZero,
}

// trapOf says what ended a guest, from wazero's error and the headline of its
// stderr.
func trapOf(err error, headline string) *Trap {
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		code := TrapExit
		if exit.ExitCode() == goPanicStatus && headline != "" {
			code = headlineCode(headline)
		}
		return &Trap{code, fmt.Sprintf("it left with exit status %d within a step", exit.ExitCode())}
	}
	// The reason ends the first line; a stack follows.
	text, _, _ := strings.Cut(err.Error(), "\n")
	reason := text[strings.LastIndex(text, ": ")+1:]
	code, known := wasmTraps[strings.TrimSpace(reason)]
	switch {
	case !known:
		code = TrapOther
	case code == TrapUnreachable && headline != "":
		code = headlineCode(headline) // how Rust ends after a panic
	case code == TrapStackOverflow: // the interpreter says where, the compiler does not
		return &Trap{code, "stack overflow: its calls are nested too deeply"}
	}
	return &Trap{code, text + framesOf(err.Error())}
}

// headlines are how the reports of language runtimes begin, or what their first
// lines contain.
var headlines = []struct {
	begins, contains string
	code             string
}{
	{"fatal error: stack overflow", "", TrapStackOverflow},
	{"runtime: goroutine stack exceeds", "", TrapStackOverflow},
	{"fatal error: ", "out of memory", TrapOutOfMemory},
	{"fatal error: ", "cannot allocate memory", TrapOutOfMemory},
	{"runtime: out of memory", "", TrapOutOfMemory},
	{"memory allocation of ", " failed", TrapOutOfMemory}, // Rust
	{"fatal error: ", "", TrapPanic},
	{"panic: ", "", TrapPanic},
	{"thread '", "panicked at", TrapPanic}, // Rust
}

func isHeadline(line string) bool { return headlineCode(line) != "" }

func headlineCode(line string) string {
	for _, h := range headlines {
		if strings.HasPrefix(line, h.begins) && strings.Contains(line, h.contains) {
			return h.code
		}
	}
	return ""
}
