package web

import (
	"log/slog"
	"strings"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// stepView is a step in the timeline.
type stepView struct {
	ID, Name  string
	State     badge
	Attempts  string
	Began     *moment
	Took      string
	Calls     []callView
	Unclaimed []callView
	Output    *bodyView
	Log       []logView
	LogText   string // "12 lines"
	LogMore   string // where the lines are that were left out; empty if none were
}

// logView is a line that a guest logged.
type logView struct {
	At      *moment
	Clock   string
	Level   string
	Tone    string
	Text    string
	Attempt int // of a step with several; else 0
}

// shownLines bounds the log lines of a step on the page; the last ones stay.
const shownLines = 200

func newStepView(s *pawl.StepCheckpoint, lines []pawl.LogLine, path string, now time.Time) stepView {
	v := stepView{ID: "step-" + s.Name, Name: s.Name, State: stateBadge(s.State)}
	if s.Attempts > 0 {
		v.Attempts = counted(int64(s.Attempts), "attempt")
	}
	var began time.Time
	if s.Began != nil {
		began = *s.Began
		v.Began = at(began, now)
	}
	if s.Ended != nil {
		v.Took = lasted(s.Ended.Sub(began))
	}
	v.Output = body(s.Output, path+"/body?of=output&step="+s.Name)
	for i := range s.Calls {
		v.Calls = append(v.Calls, newCallView(&s.Calls[i], place{path: path, step: s.Name, list: "call", i: i}, began, now))
	}
	for i := range s.Unclaimed {
		v.Unclaimed = append(v.Unclaimed, newCallView(&s.Unclaimed[i], place{path: path, step: s.Name, list: "unclaimed", i: i}, began, now))
	}
	for _, calls := range [][]callView{v.Calls, v.Unclaimed} {
		for i := range calls {
			if s.Attempts == 1 {
				calls[i].Attempt = ""
			}
		}
	}
	v.log(lines, s.Attempts > 1, "api/v1/"+path+"/logs", now)
	return v
}

func (v *stepView) log(lines []pawl.LogLine, several bool, more string, now time.Time) {
	if len(lines) == 0 {
		return
	}
	v.LogText = counted(int64(len(lines)), "line")
	if len(lines) > shownLines {
		v.LogMore, lines = more, lines[len(lines)-shownLines:]
	}
	for _, l := range lines {
		tone := "plain"
		switch {
		case l.Level >= slog.LevelError:
			tone = "bad"
		case l.Level >= slog.LevelWarn:
			tone = "wait"
		}
		v.Log = append(v.Log, logView{
			At: at(l.At, now), Clock: l.At.UTC().Format("15:04:05.000"), Level: strings.ToLower(l.Level.String()),
			Tone: tone, Text: l.Text,
		})
		if several {
			v.Log[len(v.Log)-1].Attempt = l.Attempt
		}
	}
}

func linesOf(logs []pawl.LogLine, step string) []pawl.LogLine {
	var out []pawl.LogLine
	for _, l := range logs {
		if l.Step == step {
			out = append(out, l)
		}
	}
	return out
}
