package house_test

import (
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// forWhom matches the sentence of a package comment that says who should use
// the package or who should not.
var forWhom = regexp.MustCompile(`\b(is|are) (only )?for\b|, for (who|people|authors|tests)|\b(does|do|need) not (need|use|import|be)\b|\binstead\b`)

// Readers who open a package learn first what it is for, and then whether it is
// for them.
func TestPackageComments(t *testing.T) {
	t.Parallel()
	for _, p := range list(t, nil, "./...") {
		comment := packageComment(t, p)
		begin := "Package " + p.Name + " "
		if p.Name == "main" {
			begin = "Command " + filepath.Base(p.Dir) + " "
		}
		switch {
		case comment == "":
			t.Errorf("%s has no package comment", p.path())
		case !strings.HasPrefix(comment, begin):
			t.Errorf("%s: the comment begins %.40q, not %q", p.path(), comment, begin)
		case !forWhom.MatchString(afterFirstSentence(comment)):
			t.Errorf("%s: no second sentence says for whom the package is, or for whom not", p.path())
		}
	}
}

func afterFirstSentence(comment string) string {
	_, rest, _ := strings.Cut(comment, ". ")
	return rest
}

// packageComment joins the package's comments into one line.
func packageComment(t *testing.T, p pkg) string {
	t.Helper()
	var comments []string
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		if file.Doc != nil {
			comments = append(comments, file.Doc.Text())
		}
	}
	return strings.Join(strings.Fields(strings.Join(comments, " ")), " ")
}

// Whoever writes runtime.X lets a tool add the import, and the tool knows the
// standard package first. Seen red with a func GC.
func TestRuntimeHidesNothingOfTheStandardOne(t *testing.T) {
	t.Parallel()
	standard, err := importer.ForCompiler(token.NewFileSet(), "source", nil).Import("runtime")
	if err != nil {
		t.Fatal(err)
	}
	taken := standard.Scope().Names()
	if !slices.Contains(taken, "GC") {
		t.Fatalf("the standard runtime has only %v", taken)
	}
	for _, p := range list(t, nil, "./runtime") {
		for _, name := range p.GoFiles {
			for _, exported := range exportedNames(t, filepath.Join(p.Dir, name)) {
				if slices.Contains(taken, exported) {
					t.Errorf("%s: the standard runtime has a %s too", name, exported)
				}
			}
		}
	}
}

func exportedNames(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, decl := range parsed.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return !ast.IsExported(n) })
}

// forbidden are words of how Pawl is made, not of what it is. Written in parts,
// so that this file does not find itself.
var forbidden = map[string]*regexp.Regexp{
	"the number of a case":   regexp.MustCompile(`\b(P|B)[0-9]{2}\b|\b[Cc]ases? [0-9]{2}([^:0-9]|$)`),
	"a working s" + "ession": regexp.MustCompile(`(?i)\bs` + `essions?\b`),
	"the number of an issue": regexp.MustCompile(`(?i)\bi` + `ssues? #?[0-9]+\b`),
	"a path of one machine":  regexp.MustCompile(`(^|[\s"'` + "`" + `(=:])/(w` + `ork|farm|tmp/brief)(/|\b)`),
}

// Seen red for each of the patterns.
func TestForbiddenWords(t *testing.T) {
	t.Parallel()
	for _, file := range tracked(t) {
		if file == "LICENSE" || strings.HasSuffix(file, ".sum") {
			continue
		}
		text := read(t, file)
		if strings.Contains(text, "\x00") {
			continue // no text
		}
		for i, line := range strings.Split(text, "\n") {
			for what, pattern := range forbidden {
				if found := pattern.FindString(line); found != "" {
					t.Errorf("%s:%d: %s: %q", file, i+1, what, strings.TrimSpace(found))
				}
			}
		}
	}
}

var markdownLink = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// Seen red with a link to a file that is not there.
func TestLinksInDocumentsLeadSomewhere(t *testing.T) {
	t.Parallel()
	files := tracked(t)
	for _, file := range files {
		if filepath.Ext(file) != ".md" {
			continue
		}
		for _, link := range markdownLink.FindAllStringSubmatch(read(t, file), -1) {
			target := filepath.ToSlash(filepath.Join(filepath.Dir(file), link[1]))
			there := slices.ContainsFunc(files, func(f string) bool { return f == target || strings.HasPrefix(f, target+"/") })
			if !there {
				t.Errorf("%s links to %s, which is not there", file, link[1])
			}
		}
	}
}

// What is built stays out of the repository: it is large, it is for one machine,
// and nobody reads it.
//
// Seen red with a built example.
func TestNothingBuiltIsTracked(t *testing.T) {
	t.Parallel()
	const most = 1 << 20 // bytes
	for _, name := range tracked(t) {
		data, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, magic := range []string{"\x7fELF", "\xcf\xfa\xed\xfe", "MZ", "\x00asm", "!<arch>"} {
			if strings.HasPrefix(string(data), magic) {
				t.Errorf("%s is built from something", name)
			}
		}
		if len(data) > most {
			t.Errorf("%s has %d bytes, more than %d", name, len(data), most)
		}
	}
}
