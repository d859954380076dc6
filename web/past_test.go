package web_test

import (
	"strings"
	"testing"

	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/web"
)

// The page of a run does not alarm with what is over, and tells apart what
// several attempts of a step wrote.
//
// Seen red with the error as it was, with each line's attempt left out, and with
// that of an only attempt told.
func TestWhatIsOverOnThePageOfARun(t *testing.T) {
	t.Parallel()
	f := web.NewFixed(now)
	const overcome, second = "Last error, overcome", "attempt 2</span>"
	doc := document[pawl.Checkpoint](t, "completed")
	lines := []pawl.LogLine{{Step: doc.Steps[0].Name, Attempt: 2, At: now, Text: "written"}}
	doc.Steps[0].Attempts = 1
	if page := f.Run(doc, lines); strings.Contains(page, "Last error") || strings.Contains(page, second) {
		t.Error("an error, or an attempt, of a run that went well at once")
	}
	doc.Steps[0].Attempts = 2
	doc.LastError = &pawl.LastError{Code: "http_503", Message: "down", Step: doc.Steps[0].Name, Attempt: 1, Kind: "temporary", At: now}
	if page := f.Run(doc, lines); !strings.Contains(page, overcome) || !strings.Contains(page, second) {
		t.Errorf("overcome %v, attempt %v", strings.Contains(page, overcome), strings.Contains(page, second))
	}
	failed := document[pawl.Checkpoint](t, "failed")
	if page := f.Run(failed, nil); !strings.Contains(page, "Last error") || strings.Contains(page, overcome) {
		t.Error("the error that a run stopped with is not shown as that")
	}
}
