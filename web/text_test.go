package web_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/web"
)

// What people cannot see is shown by its number, and JSON stays what it is.
func TestUnseenCharactersAreShown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain\ttext\n": "plain\ttext\n", "a\u202eb": "a[U+202E]b", "\x00\x1b[31m": "[U+0000][U+001B][31m", "z\u200bw": "z[U+200B]w",
		"\u2028": "[U+2028]", "\U000e0041": "[U+E0041]", "Zürich 北京 🙂": "Zürich 北京 🙂", "\u0085": "[U+0085]",
	} {
		if got := web.Visible(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var back string
		shown := web.VisibleJSON(string(raw))
		if err := json.Unmarshal([]byte(shown), &back); err != nil || back != text || strings.Contains(shown, "\u202e") {
			t.Errorf("%q: %s is %q, %v", text, shown, back, err)
		}
	}
}

func TestRelativeTimes(t *testing.T) {
	t.Parallel()
	for ago, want := range map[time.Duration]string{
		0: "just now", 4 * time.Second: "just now", -500 * time.Millisecond: "just now", 59 * time.Second: "59 s ago", time.Minute: "1 min ago",
		-90 * time.Second: "in 1 min", 3*time.Hour + 5*time.Minute: "3 h 05 min ago", 49 * time.Hour: "2 d 1 h ago",
	} {
		if got := web.Relative(ago); got != want {
			t.Errorf("%s: %s", ago, got)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := web.Grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
