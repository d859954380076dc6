package mutations_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var (
	mutate = flag.Bool("mutate", false, "take the rules out and run their tests: about a quarter of an hour")
	only   = flag.String("rule", "", "take out only the rules whose names have this in them")
)

const root = "../../.."

// Each rule's text is where the table says, and its tests exist.
func TestTheTableFitsTheCode(t *testing.T) {
	t.Parallel()
	for _, r := range rules {
		if len(r.edits) == 0 || len(r.red) == 0 {
			t.Errorf("%s: nothing is taken out, or nothing guards it", r.name)
		}
		for _, e := range r.edits {
			if _, err := e.apply(); err != nil {
				t.Errorf("%s: %v", r.name, err)
			}
		}
		for _, g := range r.red {
			if !g.exists(t) {
				t.Errorf("%s: package %s has no %s", r.name, g.pkg, g.test)
			}
		}
	}
}

// Without a rule each of its tests is red, and it is red because it ran and
// failed: a mutant that does not compile shows nothing.
func TestWithoutARuleItsTestsAreRed(t *testing.T) {
	if !*mutate {
		t.Skip("-mutate is not given")
	}
	for _, r := range rules {
		if !strings.Contains(r.name, *only) {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			overlay := r.overlay(t)
			for _, g := range r.red {
				out, failed := g.run(t, overlay)
				switch {
				case !failed:
					t.Errorf("%s %s stays green", g.pkg, g.test)
				case !bytes.Contains(out, []byte("--- FAIL: "+g.test+" (")) && !bytes.Contains(out, []byte("panic: ")), bytes.Contains(out, []byte("panic: test timed out")):
					t.Errorf("%s %s did not come to its end:\n%s", g.pkg, g.test, out)
				default:
					t.Logf("%s %s is red: %s", g.pkg, g.test, firstComplaint(out))
				}
			}
		})
	}
}

// apply returns the file's text with the edit made.
func (e edit) apply() ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, e.file))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(text, []byte(e.old)); n != 1 {
		return nil, fmt.Errorf("%s has the text %d times, not once: %s", e.file, n, e.old)
	}
	return bytes.Replace(text, []byte(e.old), []byte(e.new), 1), nil
}

// overlay writes the mutant and returns the file for the go command's -overlay.
func (r rule) overlay(t *testing.T) string {
	dir := t.TempDir()
	replace := map[string]string{}
	for i, e := range r.edits {
		original, err := filepath.Abs(filepath.Join(root, e.file))
		if err != nil {
			t.Fatal(err)
		}
		text, err := e.apply()
		if err != nil {
			t.Fatal(err)
		}
		if replace[original] != "" {
			t.Fatalf("two edits of %s", e.file)
		}
		mutant := filepath.Join(dir, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(mutant, text, 0o600); err != nil {
			t.Fatal(err)
		}
		replace[original] = mutant
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// exists reports whether the package has the test.
func (g guard) exists(t *testing.T) bool {
	files, err := filepath.Glob(filepath.Join(root, g.pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("\nfunc "+g.test+"(t *testing.T)")) {
			return true
		}
	}
	return false
}

// run runs the test over the mutant.
func (g guard) run(t *testing.T, overlay string) (out []byte, failed bool) {
	args := []string{"test", "-overlay", overlay, "-count=1", "-timeout", "4m", "-run", "^" + g.test + "$", "./" + g.pkg}
	cmd := exec.Command("go", append(append(args, "-args"), g.flags...)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return out, err != nil
}

// firstComplaint is the first line of a failed test that says what was wrong.
func firstComplaint(out []byte) string {
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "_test.go:") || strings.HasPrefix(line, "panic: ") {
			return strings.TrimSpace(line)
		}
	}
	return "(it says nothing)"
}
