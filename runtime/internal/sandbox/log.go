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

func (l *guestLog) stdout(p []byte) error {
	l.bounded(p, func(p []byte) { l.out.write(p, func(line []byte) { l.line(slog.LevelInfo, line) }) })
	return nil
}

func (l *guestLog) stderr(p []byte) error {
	l.bounded(p, func(p []byte) { l.err.write(p, l.stderrLine) })
	return nil
}

// bounded hands on as much of what is logged at once as an entry may log: a
// guest can name all its memory, and nothing could interrupt looking at it.
func (l *guestLog) bounded(p []byte, write func(p []byte)) {
	write(p[:min(len(p), MaxLogBytes)])
	if len(p) > MaxLogBytes {
		l.fill()
	}
}

func (l *guestLog) stderrLine(line []byte) {
	l.tail.add(clean(line))
	l.line(slog.LevelWarn, line)
}

// put logs a text as one or more lines.
func (l *guestLog) put(level slog.Level, text []byte) {
	if l.full {
		return
	}
	emit := func(line []byte) { l.line(level, line) }
	l.bounded(text, func(text []byte) {
		var b lineBuffer
		b.write(text, emit)
		b.flush(emit)
	})
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
	if l.used += len(line) + 1; l.used > MaxLogBytes { // with its end: empty lines are work too
		l.fill()
		return
	}
	if text := clean(line); text != "" {
		l.sink(level, text)
	}
}

// fill ends the log and says so, once.
func (l *guestLog) fill() {
	if !l.full && l.sink != nil {
		l.sink(slog.LevelWarn, "the log limit of this step is reached; further lines are dropped")
	}
	l.full = true
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
