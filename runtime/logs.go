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
// durable: lines become so with the next record of their run. An attempt keeps
// what its step's log limit allows.
func (r *Run) Logs() ([]LogLine, error) {
	// TODO: nothing is kept yet.
	return []LogLine{}, nil
}
