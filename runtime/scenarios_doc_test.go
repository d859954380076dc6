package runtime_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The table of scenarios names tests that are there.
//
// Seen red with a test renamed.
func TestEveryScenarioHasItsTest(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("SCENARIOS.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	if err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
			tests[string(m[1])] = true
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(table)) {
		names := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(line, -1)
		if strings.HasPrefix(line, "| ") {
			rows++
		}
		for _, name := range names {
			if !tests[name[1]] {
				t.Errorf("there is no %s: %s", name[1], line)
			}
		}
		if strings.HasPrefix(line, "| ") && rows > 1 && len(names) == 0 {
			t.Errorf("no test: %s", line)
		}
	}
	if rows < 30 {
		t.Errorf("%d rows", rows)
	}
}
