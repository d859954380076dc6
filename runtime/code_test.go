package runtime_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// answered are the errors of the store that the engine answers itself, and what
// whoever asks it gets instead.
var answered = map[string]string{
	"kv.ErrNotFound":      "ErrNotFound, or nothing",
	"kv.ErrRequirement":   "the run is read anew, or ErrFenced",
	"kv.ErrBatchTooLarge": "ErrTooLarge, before it is written",
	"kv.ErrLeased":        "ErrAlreadyRunning",
	"kv.ErrLeaseLost":     "ErrFenced",
	"kv.ErrClosed":        "ErrUnavailable",
}

// Every error that programs may ask for has a code, once, and each code is one
// word for one error.
//
// Seen red with an entry taken out, and with one that is there twice.
func TestEverySentinelHasACode(t *testing.T) {
	t.Parallel()
	want := slices.Concat(sentinels(t, ".", ""), sentinels(t, "../kv", "kv."), []string{"host.ErrOutcomeUnknown"})
	for name := range answered {
		if !slices.Contains(want, name) {
			t.Errorf("there is no %s any more", name)
		}
	}
	want = slices.DeleteFunc(want, func(name string) bool { return answered[name] != "" })
	coded := codesInSource(t)
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(coded)); !slices.Equal(got, want) {
		t.Errorf("codes are there for\n%s\nand wanted for\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	used := map[string]bool{}
	for name, code := range coded {
		if used[code] || !regexp.MustCompile(`^[a-z_]+$`).MatchString(code) {
			t.Errorf("%s: code %q", name, code)
		}
		used[code] = true
	}
}

// sentinels are the exported errors of a package's folder.
func sentinels(t *testing.T, dir, prefix string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, decl := range parsed(t, file).Decls {
			vars, ok := decl.(*ast.GenDecl)
			if !ok || vars.Tok != token.VAR {
				continue
			}
			for _, spec := range vars.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					if strings.HasPrefix(name.Name, "Err") {
						names = append(names, prefix+name.Name)
					}
				}
			}
		}
	}
	if len(names) == 0 {
		t.Fatalf("no errors in %s", dir)
	}
	return names
}

func parsed(t *testing.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// codesInSource reads the table: its pairs of an error and a code.
func codesInSource(t *testing.T) map[string]string {
	t.Helper()
	codes := map[string]string{}
	ast.Inspect(parsed(t, "code.go"), func(n ast.Node) bool {
		pair, ok := n.(*ast.CompositeLit)
		if !ok || pair.Type != nil || len(pair.Elts) != 2 {
			return true
		}
		code, err := strconv.Unquote(pair.Elts[1].(*ast.BasicLit).Value)
		name := ""
		switch e := pair.Elts[0].(type) {
		case *ast.Ident:
			name = e.Name
		case *ast.SelectorExpr:
			name = fmt.Sprintf("%s.%s", e.X, e.Sel)
		}
		if codes[name] != "" || err != nil {
			t.Errorf("%s: %s, %v", name, codes[name], err)
		}
		codes[name] = code
		return true
	})
	return codes
}

// The cause counts, not what it is wrapped in.
func TestCodeOf(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"":                fmt.Errorf("odd"),
		"no_space":        fmt.Errorf("%w: %w", pawl.ErrUnavailable, kv.ErrNoSpace),
		"corrupt":         fmt.Errorf("%w: %w", kv.ErrStoreBroken, &kv.DamageError{}),
		"incompatible":    &pawl.IncompatibleError{},
		"invalid_input":   &pawl.InputError{},
		"held":            &pawl.HeldError{},
		"budget_spent":    &pawl.StepError{Err: &pawl.BudgetError{}},
		"outcome_unknown": &host.UndecidedError{},
		"stale":           fmt.Errorf("act: %w", pawl.ErrStale),
		"closed":          pawl.ErrClosed,
	} {
		if got := pawl.CodeOf(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	if got := pawl.CodeOf(nil); got != "" {
		t.Errorf("nothing: %q", got)
	}
}
