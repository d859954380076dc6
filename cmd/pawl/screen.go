package main

import (
	"io"
	"os"
	"sync"
)

// screen is a terminal that has one line below everything written, which is
// rewritten in place. It is safe for concurrent use.
type screen struct {
	out io.Writer

	mu   sync.Mutex // guards what follows
	line string
}

const (
	eraseLine = "\r\x1b[K"
	// A line longer than the terminal is wide would wrap, and only its last part
	// would be erased.
	noWrap, wrap = "\x1b[?7l", "\x1b[?7h"
)

// terminal returns the screen behind a stream, or nil if it is none, or one
// that cannot erase.
func terminal(w io.Writer) *screen {
	if file := fileOf(w); file == nil || os.Getenv("TERM") == "dumb" || !isTerminal(file) {
		return nil
	}
	return &screen{out: w}
}

// fileOf returns the file to which a stream writes, nil if there is none.
func fileOf(w io.Writer) *os.File {
	switch w := w.(type) {
	case *os.File:
		return w
	case *output:
		return fileOf(w.Writer)
	case *screen:
		return fileOf(w.out)
	}
	return nil
}

func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Write writes whole lines above the line below.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line == "" {
		return s.out.Write(b)
	}
	n, err := s.out.Write(append([]byte(eraseLine), b...))
	s.draw()
	return max(0, n-len(eraseLine)), err
}

// show makes text the line below; empty for none.
func (s *screen) show(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == s.line {
		return
	}
	if s.line != "" {
		_, _ = io.WriteString(s.out, eraseLine)
	}
	s.line = text
	s.draw()
}

// draw writes the line below. The caller holds mu.
func (s *screen) draw() {
	if s.line != "" {
		_, _ = io.WriteString(s.out, noWrap+s.line+wrap)
	}
}
