package main

import (
	"cmp"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// painter colours words for a terminal, or leaves them alone.
type painter bool

// paint returns the painter for a stream: a terminal whose user has not said
// NO_COLOR.
func (g *Globals) paint(w io.Writer) painter {
	file := fileOf(w)
	return painter(file != nil && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(file))
}

const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (p painter) in(colour, text string) string {
	if !p {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// state is a state as people read it.
func (p painter) state(s pawl.RunState) string {
	switch s {
	case pawl.StateCompleted:
		return p.in(green, "completed")
	case pawl.StateNeedsDecision:
		return p.in(yellow, "needs a person")
	case pawl.StateFailed, pawl.StateIncompatible:
		return p.in(red, string(s))
	case pawl.StateWaiting, pawl.StateInterrupted, pawl.StateHeld, pawl.StateQueued:
		return p.in(yellow, string(s))
	}
	return string(s)
}

// plain is text from outside without anything that could move a terminal's
// cursor or change its colours; a line break stays.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
