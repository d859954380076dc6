package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/pawl-dev/pawl/host/tomlfile"
)

// answersName is the file beside a workflow that says what its receivers answer
// when others stand in for them.
const answersName = "fakes.toml"

// answersFile is such a file.
type answersFile struct {
	Pawl int                     `toml:"pawl"`
	Tool map[string]answersTable `toml:"tool"`

	name string
	file *tomlfile.File // nil if there is no such file
}

// answersTable is what a receiver answers. In a text {field} stands for that
// field of the request.
type answersTable struct {
	Status  int `toml:"status"`  // defaults to 200
	Answer  any `toml:"answer"`  // defaults to {} with what the tool's units need
	Applied any `toml:"applied"` // to the verify query, about a call that happened
	Absent  any `toml:"absent"`  // about one that did not
}

// readAnswers reads the file that is named, else the one in the folder if there
// is one.
func readAnswers(named, folder string, tools map[string]*declared) (*answersFile, error) {
	a := &answersFile{name: named}
	if named == "" {
		a.name = filepath.Join(folder, answersName)
	}
	text, err := os.ReadFile(a.name)
	if named == "" && errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return nil, &problem{
			Code: "no_fakes", Message: fmt.Sprintf("the file of answers cannot be read: %v", err),
			Hint: "name a file that can be read with --fakes FILE", Status: statusUsage,
		}
	}
	if a.file, err = tomlfile.Read(a.name, text, a); err != nil {
		return nil, err
	}
	return a, a.check(tools)
}

func (a *answersFile) check(tools map[string]*declared) error {
	var wrong tomlfile.Errors
	fault := func(p tomlfile.Path, format string, args ...any) {
		wrong = append(wrong, a.file.Errorf(p, format, args...))
	}
	if a.Pawl != 1 {
		fault(tomlfile.Path{"pawl"}, "the file must say pawl = 1, its format; this program knows no other")
	}
	for _, id := range slices.Sorted(maps.Keys(a.Tool)) {
		at, t := tomlfile.Path{"tool", id}, a.Tool[id]
		d := tools[id]
		if d == nil {
			e := a.file.Errorf(at, "the tools file has no tool %q", id)
			if s := tomlfile.Suggest(id, slices.Sorted(maps.Keys(tools))); s != "" {
				e.WithHint("did you mean %q?", s)
			}
			wrong = append(wrong, e)
			continue
		}
		if status := at.Add("status"); a.file.Has(status) && (t.Status < 200 || t.Status > 299) {
			fault(status, "status must be from 200 to 299: what is told is how the tool answers when all is well")
		}
		for name, body := range map[string]any{"applied": t.Applied, "absent": t.Absent} {
			if body == nil {
				continue
			}
			if d.config.Verify == nil {
				fault(at.Add(name), "%s: the tool %s has no verify query that could be answered", name, id)
			} else if says := d.question(a).says(body); says != name {
				fault(at.Add(name), "%s: by verify.applied and verify.absent of %s this answer means %s", name, id, says)
			}
		}
	}
	return wrong.Err()
}

// answer is what a tool is answered, as a template, and whether that is made up.
func (a *answersFile) answer(d *declared) (body any, status int, made bool) {
	t, status := a.Tool[d.id], 200
	if t.Status != 0 {
		status = t.Status
	}
	if t.Answer != nil {
		return t.Answer, status, false
	}
	body = map[string]any{}
	for _, pointer := range d.config.Units {
		body = merged(body, at(pointer, 1))
	}
	return body, status, true
}

// merged puts b into a, where both are objects.
func merged(a, b any) any {
	into, ok := a.(map[string]any)
	from, too := b.(map[string]any)
	if !ok || !too {
		return b
	}
	for k, v := range from {
		if old, there := into[k]; there {
			v = merged(old, v)
		}
		into[k] = v
	}
	return into
}

func mustJSON(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null") // TOML has nothing that JSON has not, but numbers that are none
	}
	return text
}
