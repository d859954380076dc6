package tomlfile_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host/tomlfile"
)

type doc struct {
	Pawl  int             `toml:"pawl"`
	Shelf shelf           `toml:"shelf"`
	Books []book          `toml:"book"`
	Notes map[string]note `toml:"note"`
	Free  any             `toml:"free"`
}

type shelf struct {
	Name   string            `toml:"name"`
	Wait   tomlfile.Duration `toml:"wait"`
	Space  *tomlfile.Size    `toml:"space"`
	Open   bool              `toml:"open"`
	Weight float64           `toml:"weight"`
	Codes  []int             `toml:"codes"`
	Units  map[string]int64  `toml:"units"`
}

type book struct {
	Title   string          `toml:"title"`
	Pages   int             `toml:"pages"`
	Page    map[string]note `toml:"page"`
	Lend    any             `toml:"lend" notyet:"nothing is lent yet; remove it"`
	Authors []author        `toml:"authors"`
}

type (
	author struct {
		Name string `toml:"name"`
	}
	note struct {
		Text string `toml:"text"`
	}
)

func TestRead(t *testing.T) {
	t.Parallel()
	var got doc
	f, err := tomlfile.Read("x.toml", []byte(`pawl = 1
free = { anything = [1, "a"] }
[shelf]
name = "left"
wait = "1m30s"
space = "64MiB"
weight = 2
units.apples = 3
[[book]]
title = "one"
[book.page."1"]
text = "a"
[[book]]
title = "two"
authors = [{ name = "x" }, { name = "y" }]
[note.a]
text = "n"
`), &got)
	if err != nil {
		t.Fatal(err)
	}
	size := tomlfile.Size(64 << 20)
	want := doc{
		Pawl: 1, Free: map[string]any{"anything": []any{int64(1), "a"}},
		Shelf: shelf{Name: "left", Wait: tomlfile.Duration(90 * time.Second), Space: &size, Weight: 2, Units: map[string]int64{"apples": 3}},
		Books: []book{
			{Title: "one", Page: map[string]note{"1": {Text: "a"}}},
			{Title: "two", Authors: []author{{"x"}, {"y"}}},
		},
		Notes: map[string]note{"a": {Text: "n"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, row := range []struct {
		path tomlfile.Path
		want string
	}{
		{tomlfile.Path{"shelf", "wait"}, "x.toml:5:1: bad"},
		{tomlfile.Path{"book", 1, "title"}, "x.toml:14:1: bad"},
		{tomlfile.Path{"book", 1, "authors", 1, "name"}, "x.toml:15:30: bad"},
		{tomlfile.Path{"book", 0, "page", "1", "text"}, "x.toml:12:1: bad"},
		{tomlfile.Path{"book", 1, "pages"}, "x.toml:13:3: bad"}, // not there: its table
		{tomlfile.Path{"shelf", "units", "apples"}, "x.toml:8:7: bad"},
		{tomlfile.Path{"nowhere"}, "x.toml:1:1: bad"},
	} {
		if e := f.Errorf(row.path, "bad"); e.Error() != row.want {
			t.Errorf("%v: %s, want %s", row.path, e, row.want)
		}
	}
	if !f.Has(tomlfile.Path{"book", 1}) || f.Has(tomlfile.Path{"book", 2}) {
		t.Error("Has is wrong about the books")
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, text string
		want       []string
	}{
		{"an unknown key", "pawl = 1\npwal = 2\n", []string{`x.toml:2:1: unknown key "pwal" (did you mean "pawl"?)`}},
		{"an unknown key that is near nothing", "[note.a]\ncolour = 1", []string{`x.toml:2:1: unknown key "colour" in [note.a] (known here: text)`}},
		{"an unknown table is reported once", "[shlef]\na = 1\nb = 2", []string{`x.toml:1:2: unknown key "shlef" (did you mean "shelf"?)`}},
		{"in the second of two", "[[book]]\n[[book]]\n  titel = 'x'", []string{`x.toml:3:3: unknown key "titel" in [[book]] (did you mean "title"?)`}},
		{"in an inline table", `shelf = { naem = "x" }`, []string{`x.toml:1:11: unknown key "naem" in [shelf] (did you mean "name"?)`}},
		{"in a table of an element", "[[book]]\n[book.page.\"a.b\"]\ntxt = 1", []string{`x.toml:3:1: unknown key "txt" in [book.page."a.b"] (did you mean "text"?)`}},
		{"a feature that is not there yet", "[[book]]\nlend = { days = 3 }", []string{`x.toml:2:1: lend: nothing is lent yet; remove it`}},
		{"wrong types, all of them", "pawl = \"1\"\n[shelf]\nname = 3\nopen = 'yes'\ncodes = [1, 'x']\nwait = 5\n", []string{
			`x.toml:1:1: pawl must be a whole number, not a string`,
			`x.toml:3:1: name must be a string, not a whole number`,
			`x.toml:4:1: open must be true or false, not a string`,
			`x.toml:5:13: codes (element 2) must be a whole number, not a string`,
			`x.toml:6:1: wait must be a string, not a whole number`,
		}},
		{"a fraction where a whole number goes", "[[book]]\npages = 1.5", []string{`x.toml:2:1: pages must be a whole number, not a number with a fraction`}},
		{"a date", "[shelf]\nname = 2026-01-01", []string{`x.toml:2:1: name must be a string, not a date or time`}},
		{"a value where a table goes", "shelf = 'x'", []string{`x.toml:1:1: shelf must be a table, not a string`}},
		{"a table where an array of tables goes", "[book]\ntitle = 'x'", []string{`x.toml:1:2: book must be an array, not a table (write [[book]])`}},
		{"an array of tables where a table goes", "[[shelf]]\nname = 'x'", []string{`x.toml:1:3: shelf must be a table, not an array of tables`}},
		{"a text that is no duration", "[shelf]\nwait = '5 s'", []string{`x.toml:2:1: wait: "5 s" is no duration; write it like "500ms", "20s" or "1h30m"`}},
		{"a negative duration", "[shelf]\nwait = '-5s'", []string{`x.toml:2:1: wait: "-5s" is negative`}},
		{"a text that is no size", "[shelf]\nspace = '64MB'", []string{`x.toml:2:1: space: "64MB" is no size; write it like "64MiB" or "512KiB"`}},
		{"a key twice", "pawl = 1\npawl = 2", []string{`x.toml:2:1: key pawl is already defined`}},
		{"a number that is too large", "pawl = 99999999999999999999", []string{`x.toml:1:8: `}},
		{"no TOML", "pawl = \n", []string{`x.toml:1:8: `}},
		{"columns count letters", `shelf = { name = "äöü", opne = true }`, []string{`x.toml:1:25: unknown key "opne" in [shelf] (did you mean "open"?)`}},
		{"no text", "pawl = 1\xff", []string{`x.toml: not UTF-8 text`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := tomlfile.Read("x.toml", []byte(row.text), new(doc))
			var one *tomlfile.Error
			if !errors.As(err, &one) {
				t.Fatalf("error %v (%T), want an *Error", err, err)
			}
			got := strings.Split(err.Error(), "\n")
			if len(got) != len(row.want) {
				t.Fatalf("got\n%s\nwant\n%s", err, strings.Join(row.want, "\n"))
			}
			for i := range got {
				if !strings.HasPrefix(got[i], row.want[i]) {
					t.Errorf("got  %s\nwant %s", got[i], row.want[i])
				}
			}
		})
	}
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	known := []string{"name", "module", "tools", "with", "retry"}
	for name, want := range map[string]string{
		"modul": "module", "moduel": "module", "Name": "name", "tool": "tools", "wiht": "with",
		"x": "", "colour": "", "": "", "max_backoff": "",
	} {
		if got := tomlfile.Suggest(name, known); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", name, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"pawl = 1\n[shelf]\nname='x'\n[[book]]\ntitle='a'\n[book.page.x]\ntext='y'",
		"[[book.page]]\n[book]", "book = [{title='x'}]\n[[book]]", "shelf.units.a = 1\n[[shelf.units]]", "[[book]]\n[[book.authors]]\nname='x'\n[book.authors.name]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := tomlfile.Read("x.toml", text, new(doc))
		var all tomlfile.Errors
		if err != nil && !errors.As(err, &all) {
			t.Fatalf("error of type %T: %v", err, err)
		}
		for _, e := range all {
			if e.Message == "" || e.Line > strings.Count(string(text), "\n")+1 {
				t.Fatalf("a useless error: %#v", e)
			}
		}
		if (file == nil) == (err == nil) {
			t.Fatalf("file %v, error %v", file, err)
		}
	})
}
