package runtime

import (
	goruntime "runtime"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// Platform returns the pins that depend on this program alone, without modules
// and tools. A run whose pins differ cannot go on here.
func Platform() Pins {
	return Pins{
		Modules: map[string]string{}, Tools: map[string]string{}, ABI: abi.Version,
		Semantics: sandbox.Semantics, StateFormat: journal.Format, Arch: goruntime.GOARCH,
	}
}
