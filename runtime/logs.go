package runtime

import (
	"log/slog"
	"time"
)

// LogLine is a line that a guest logged.
type LogLine struct {
	Step    string     `json:"step"`
	Attempt int        `json:"attempt"`
	N       int        `json:"n"`    // from 0, in the attempt
	Call    int        `json:"call"` // the calls that the attempt had made
	At      time.Time  `json:"at"`   // when it was first recorded
	Level   slog.Level `json:"level"`
	Text    string     `json:"text"`
}

// Logs returns what the guests of the run logged, oldest first, as far as it is
// durable. A line becomes durable with the next record of its run: that of the
// guest's next call or of its end, after 10 seconds at the latest. One that an
// attempt logs again because it was interrupted is there once; a new attempt has
// lines of its own.
//
// An attempt keeps 1 MiB, with 64 bytes for each line, and its last line says
// how much was left out. All of it is read into memory. The text is a guest's:
// it is UTF-8 of at most 16 KiB without control characters but the tab, and
// otherwise anything.
//
// It fails with [ErrUnavailable], or with [ErrUndecodable] and the lines before
// the one that cannot be read.
func (r *Run) Logs() ([]LogLine, error) {
	kept, err := r.engine.book.Logs(r.id)
	lines := make([]LogLine, len(kept))
	for i, line := range kept {
		lines[i] = LogLine(line)
	}
	return lines, err
}

// log takes a line of the guest. People who watch were told of one that is
// recorded already.
func (a *attempt) log(level slog.Level, line string) {
	if a.run.Log(a.calls, level, line) {
		a.body.emit(Event{Kind: Logged, Call: -1, Level: level, Message: line})
	}
}

// leaveOut counts what the guest logs beyond the limit.
func (a *attempt) leaveOut(lines, bytes int) {
	if a.run.LeaveOut(a.calls, lines, bytes) {
		a.body.emit(Event{Kind: Logged, Call: -1, Level: slog.LevelWarn, Message: logLimitReached})
	}
}

const logLimitReached = "the log limit of this attempt is reached; further lines are left out"
