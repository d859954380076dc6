package web_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/web"
)

var update = flag.Bool("update", false, "write the golden pages anew")

// now is when the golden pages are looked at.
var now = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

// document reads one of the fixed documents.
func document[T any](t *testing.T, name string) *T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/documents", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	v := new(T)
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
	return v
}

// fixedPages are all pages, of documents that do not change.
func fixedPages(t *testing.T) map[string]string {
	t.Helper()
	f := web.NewFixed(now)
	pages := map[string]string{}
	for _, name := range []string{"completed", "failed", "needs_decision", "waiting", "running", "orphan", "incompatible", "hostile"} {
		pages["run_"+name] = f.Run(document[pawl.Checkpoint](t, name), logs(name))
	}
	var well, paused, held pawl.Health
	well.Store.Condition, held.Store.Condition, held.Store.Reason, paused.Store.Condition = "ok", "held", "it is a copy of another directory", "ok"
	paused.Paused = true
	runs := document[pawl.Page](t, "runs")
	pages["runs"] = f.Runs(runs, "", &well)
	runs.Next = "next"
	pages["runs_filtered"] = f.Runs(runs, "state=failed&reason=refused&label=order%3DW1&text=%22x&cursor=abc", &paused)
	pages["runs_none"] = f.Runs(&pawl.Page{}, "state=held", &held)
	pages["runs_empty"] = f.Runs(&pawl.Page{}, "", &well)
	pages["runs_unreadable"] = f.Runs(&pawl.Page{Items: []pawl.Summary{{Run: "01M8", Unreadable: "undecodable record at r/01M8"}}}, "", &well)
	pages["workflows"] = f.Workflows(*document[[]pawl.WorkflowDocument](t, "workflows"))
	pages["workflows_none"] = f.Workflows(nil)
	schema, err := os.ReadFile("testdata/guest/schema/order.json")
	if err != nil {
		t.Fatal(err)
	}
	pages["start"] = f.Start(schema, nil)
	pages["start_wrong"] = f.Start(schema, url.Values{
		"in/order": {"<b>X"}, "in/amount": {"much"}, "in/express": {"true"}, "in/address/city": {"Y"}, "in/extra": {"{"}, "in/say": {"two\r\nlines"},
	}, "/order", "/address/city", "/nothing")
	pages["start_json"] = f.Start(nil, nil)
	pages["health"] = f.Health(healthy())
	pages["problem_conflict"] = f.Problem(pawl.ErrInputConflict)
	pages["problem_incompatible"] = f.Problem(&pawl.IncompatibleError{Run: "01M8", Differences: []pawl.Difference{{Pin: "arch", What: "amd64 -> arm64"}}})
	pages["problem_internal"] = f.Problem(fmt.Errorf("a secret of ours"))
	return pages
}

func healthy() *pawl.Health {
	h := &pawl.Health{
		Open: 1204, Live: 3, Waiting: 1100, Expected: 1, States: map[pawl.RunState]int{pawl.StateRunning: 4, pawl.StateFailed: 100},
		Recovery: &pawl.Recovery{At: now.Add(-time.Hour), Stops: 2, Open: 12, WentOn: 9, NeedPerson: 2, Unreadable: 1},
	}
	s := &h.Store
	s.Condition, s.Commits, s.Syncs, s.CommitRate, s.SyncRate, s.SyncMode = "ok", 123456, 4567, 12.34, 1.2, "fsync"
	s.Size, s.Free = 123456789, 98765432100
	return h
}

func logs(name string) []pawl.LogLine {
	if name != "hostile" {
		return nil
	}
	var lines []pawl.LogLine
	for i := range 203 {
		lines = append(lines, pawl.LogLine{Step: "draft", Attempt: 1, N: i, At: now.Add(-time.Hour), Text: "<script>alert(4)</script>\u202e", Level: slog.LevelWarn})
	}
	return lines
}

// The pages of fixed documents stay as they are kept; -update writes them anew.
// They are sound, and what the documents have of markup is text in them.
//
// Seen red with a title, a message and a log line that html/template is told to
// trust, and with unseen characters let through.
func TestGoldenPages(t *testing.T) {
	t.Parallel()
	for name, page := range fixedPages(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, wrong := range checkHTML(page) {
				t.Error(wrong)
			}
			for _, bad := range []string{"<img", "<script>alert", "\u202e", "\u200b", "\a", "ZgotmplZ", `href="javascript`, "a secret of ours", "<b>X"} {
				if strings.Contains(page, bad) {
					t.Errorf("it has %q", bad)
				}
			}
			file := filepath.Join("testdata/golden", name+".html")
			if *update {
				if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(page, "\n")); diff != "" {
				t.Errorf("-want +got (-update keeps it):\n%s", diff)
			}
		})
	}
}
