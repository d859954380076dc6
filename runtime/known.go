package runtime

import (
	"slices"

	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// KnownCode reports whether a code of a reason or of a failed attempt is one
// that the engine, or the SDK of steps, gives by itself. All others are made up
// by steps and tools, so there may be any number of them: whoever keeps a count
// for each should put those together.
func KnownCode(code string) bool {
	for _, s := range standings() {
		if s.code == code && code != "" {
			return true
		}
	}
	return slices.Contains(traps(), code) || slices.Contains(failures(), code)
}

// Codes of attempts that fail although their guest has not said so.
const (
	codeBadInput      = "bad_input"
	codeInvalidOutput = "invalid_output"
)

// failures are the codes that attempts fail with, but for traps, and the reason
// of a run that cannot be read.
func failures() []string {
	codes := []string{reasonUnreadable, codeBadInput, codeInvalidOutput, "error", "not_yet", "bad_response"}
	for _, name := range statusNames {
		codes = append(codes, "call_"+name) // as the SDK calls what a call came to
	}
	return codes
}

// traps are the codes of all traps.
func traps() []string {
	return []string{
		sandbox.TrapBadPointer, sandbox.TrapBadFrame, sandbox.TrapBadToolName, sandbox.TrapBadKind, sandbox.TrapTooLarge,
		sandbox.TrapCallInitialize, sandbox.TrapPutInitialize, sandbox.TrapCallInDescribe, sandbox.TrapSecondOutput,
		sandbox.TrapSecondFailure, sandbox.TrapOutputAndFailure, sandbox.TrapNoOutput, sandbox.TrapNoFailure,
		sandbox.TrapBadReturn, sandbox.TrapBadOutput, sandbox.TrapBadFailure, sandbox.TrapWorkLimit, sandbox.TrapCallLimit, sandbox.TrapOutOfMemory,
		sandbox.TrapPanic, sandbox.TrapExit, sandbox.TrapUnreachable, sandbox.TrapStackOverflow, sandbox.TrapOutOfBounds,
		sandbox.TrapDivideByZero, sandbox.TrapOther,
	}
}
