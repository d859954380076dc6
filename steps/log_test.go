package steps_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/steps"
)

func TestLogLines(t *testing.T) {
	t.Parallel()
	var got []string
	l := steps.NewLogger(func(kind abi.PutKind, line string) {
		got = append(got, string(rune('0'+kind))+" "+line)
	})
	l.Debug("looking")
	l.Info("order read", "order", "W1", "cents", 1490, "took", time.Second)
	l.Warn("odd", "text", "two words", "empty", "", "line", "a\nb")
	l.With("run", 7).WithGroup("pay").With("key", "k").Error("refused", slog.Group("answer", "code", 422), "at", 1)
	l.WithGroup("").Info("plain", slog.Group("", "inlined", true), slog.Attr{})
	l.Log(t.Context(), slog.LevelWarn+1, "between")

	want := []string{
		`2 looking`,
		`3 order read order=W1 cents=1490 took=1s`,
		`4 odd text="two words" empty="" line="a\nb"`,
		`5 refused run=7 pay.key=k pay.answer.code=422 pay.at=1`,
		`3 plain inlined=true`,
		`4 between`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
