package sandbox

import (
	"bytes"
	"log/slog"
	"strings"
)

// guestLog makes bounded lines of what a guest logs.
type guestLog struct {
	sink     func(level slog.Level, line string)
	out, err lineBuffer
	used     int
	full     bool
	tail     tail
}

func (l *guestLog) stdout(p []byte) {
	l.out.write(p, func(line []byte) { l.line(slog.LevelInfo, line) })
}

func (l *guestLog) stderr(p []byte) { l.err.write(p, l.stderrLine) }

func (l *guestLog) stderrLine(line []byte) {
	l.tail.add(clean(line))
	l.line(slog.LevelWarn, line)
}

// put logs a text as one or more lines.
func (l *guestLog) put(level slog.Level, text []byte) {
	var b lineBuffer
	emit := func(line []byte) { l.line(level, line) }
	b.write(text, emit)
	b.flush(emit)
}

// flush logs lines that were left unfinished.
func (l *guestLog) flush() {
	l.out.flush(func(line []byte) { l.line(slog.LevelInfo, line) })
	l.err.flush(l.stderrLine)
}

// line hands on one line, until the entry's limit is reached.
func (l *guestLog) line(level slog.Level, line []byte) {
	if l.sink == nil || l.full {
		return
	}
	if l.used += len(line); l.used > MaxLogBytes {
		l.full = true
		l.sink(slog.LevelWarn, "the log limit of this step is reached; further lines are dropped")
		return
	}
	if text := clean(line); text != "" {
		l.sink(level, text)
	}
}

// clean makes a line safe to show: valid text without control characters,
// which could move a terminal's cursor.
func clean(line []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(line), "\uFFFD"))
}

// lineBuffer cuts a stream into lines of at most MaxLogLine bytes; the rest of
// a longer line is dropped.
type lineBuffer struct{ unfinished []byte }

func (b *lineBuffer) write(p []byte, emit func(line []byte)) {
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		room := MaxLogLine - len(b.unfinished)
		b.unfinished = append(b.unfinished, line[:min(len(line), room)]...)
		if !ended {
			return
		}
		emit(b.unfinished)
		b.unfinished = b.unfinished[:0]
		p = rest
	}
}

func (b *lineBuffer) flush(emit func(line []byte)) {
	if len(b.unfinished) > 0 {
		emit(b.unfinished)
		b.unfinished = nil
	}
}

// Bounds of what a trap quotes of the guest's stderr.
const (
	tailLines = 12
	tailLine  = 300
)

// tail keeps the last lines of stderr. From the first headline on it keeps the
// lines that follow instead: a stack would push the reason out.
type tail struct {
	lines    []string
	headline string
}

func (t *tail) add(line string) {
	if line == "" {
		return
	}
	if t.headline == "" && isHeadline(line) {
		t.headline, t.lines = line, nil
	}
	if len(t.lines) == tailLines {
		if t.headline != "" {
			return
		}
		t.lines = t.lines[1:]
	}
	t.lines = append(t.lines, strings.ToValidUTF8(line[:min(len(line), tailLine)], ""))
}

func (t *tail) String() string { return strings.Join(t.lines, "\n") }
