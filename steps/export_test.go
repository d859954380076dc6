package steps

import (
	"log/slog"

	"github.com/pawl-dev/pawl/host/abi"
)

// For the tests of what only a guest hands over.
var (
	Describe   = describe
	PutFailure = (*Failure).put
)

// NewLogger returns a logger like a step's over put.
func NewLogger(put func(kind abi.PutKind, line string)) *slog.Logger { return newLogger(lines(put)) }

type lines func(kind abi.PutKind, line string)

func (lines) call(string, abi.CallHead, []byte) (*result, error) { panic("no calls") }

func (l lines) put(kind abi.PutKind, data []byte) { l(kind, string(data)) }
