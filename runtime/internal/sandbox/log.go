package sandbox

import (
	"bytes"
	"log/slog"
	"strings"
)

// guestLog makes bounded lines of what a guest logs.
type guestLog struct {
	sink     func(level slog.Level, line string)
	leftOut  func(lines, bytes int)
	out, err lineBuffer
	used     int
	full     bool
	tail     tail

	lostLines, lostBytes int // that leftOut was not told of yet
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
		l.lose(1, len(p)-MaxLogBytes)
	}
	l.report()
}

func (l *guestLog) stderrLine(line []byte) {
	l.tail.add(clean(line))
	l.line(slog.LevelWarn, line)
}

// put logs a text as one or more lines.
func (l *guestLog) put(level slog.Level, text []byte) {
	if l.full {
		seen := text[:min(len(text), MaxLogBytes)]
		l.lose(1+bytes.Count(bytes.TrimSuffix(seen, newline), newline), len(text))
		l.report()
		return
	}
	emit := func(line []byte) { l.line(level, line) }
	l.bounded(text, func(text []byte) {
		var b lineBuffer
		b.write(text, emit)
		b.flush(emit)
	})
}

// flush logs lines that were left unfinished when the guest ended by itself.
func (l *guestLog) flush() {
	l.out.flush(func(line []byte) { l.line(slog.LevelInfo, line) })
	l.err.flush(l.stderrLine)
	l.report()
}

// line hands on one line, until the entry's limit is reached.
func (l *guestLog) line(level slog.Level, line []byte) {
	if l.sink == nil {
		return
	}
	if l.used += len(line) + logLineCost; l.full || l.used > MaxLogBytes {
		l.lose(1, len(line)+1)
		return
	}
	if text := clean(line); text != "" {
		l.sink(level, text)
	}
}

// lose ends the log: a shorter line that would still fit is no use behind one
// that is missing.
func (l *guestLog) lose(lines, bytes int) {
	l.full = true
	l.lostLines += lines
	l.lostBytes += bytes
}

// report tells once for each write what was lost of it, since a write can hold
// a million lines.
func (l *guestLog) report() {
	if l.lostLines > 0 && l.leftOut != nil {
		l.leftOut(l.lostLines, l.lostBytes)
	}
	l.lostLines, l.lostBytes = 0, 0
}

var newline = []byte("\n")

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
