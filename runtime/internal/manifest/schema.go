package manifest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pawl-dev/pawl/host/expr"
)

// draft is the one dialect of JSON Schema that workflows use.
const draft = "https://json-schema.org/draft/2020-12/schema"

// base is the address of the workflow's folder for references in schemas. Its
// scheme is known to nobody else, so a reference leads into the folder or fails.
const base = "workflow:///"

// inline is how the address of an inline schema goes on.
const inline = "?inline="

const maxProblems = 20

// schema is a compiled JSON Schema; a nil one takes every JSON document.
type schema struct{ compiled *jsonschema.Schema }

func (s *schema) check(document string, text []byte) error {
	v, err := expr.Decode(text)
	if err != nil {
		return &SchemaError{Document: document, Problems: []Problem{{Message: "not usable JSON: " + err.Error()}}}
	}
	if s == nil {
		return nil
	}
	if !affordable(s.compiled, v) {
		return &SchemaError{Document: document, Problems: []Problem{{Message: fmt.Sprintf("checking it would take more than %d steps; make it smaller or its schema simpler", maxPerDocument)}}}
	}
	err = s.compiled.Validate(v)
	if err == nil {
		return nil
	}
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return &SchemaError{Document: document, Problems: []Problem{{Message: err.Error()}}}
	}
	return &SchemaError{Document: document, Problems: problems(failed)}
}

// problems lists the leaves of a validation error, in an order that does not
// depend on the order in which Go walks maps.
func problems(e *jsonschema.ValidationError) []Problem {
	var out []Problem
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) == 0 {
			unit := e.DetailedOutput()
			out = append(out, Problem{Pointer: unit.InstanceLocation, Message: unit.Error.String()})
		}
	}
	walk(e)
	slices.SortFunc(out, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Message, b.Message))
	})
	out = slices.Compact(out)
	return out[:min(len(out), maxProblems)]
}

// schemas compiles the schemas of one workflow.
type schemas struct {
	fsys     fs.FS
	compiler *jsonschema.Compiler
	files    map[string][]byte // every file that was read
}

func newSchemas(fsys fs.FS) *schemas {
	s := &schemas{fsys: fsys, compiler: jsonschema.NewCompiler(), files: map[string][]byte{}}
	s.compiler.DefaultDraft(jsonschema.Draft2020)
	s.compiler.AssertFormat()
	s.compiler.UseLoader(s)
	return s
}

// compile takes what TOML has: a file's name or an inline table. label names
// the place of an inline one.
func (s *schemas) compile(v any, label string) (*schema, error) {
	var at string
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		if !fs.ValidPath(v) || v == "." {
			return nil, fmt.Errorf("%q is no file of this folder", v)
		}
		at = base + (&url.URL{Path: v}).EscapedPath()
	case map[string]any:
		document, err := fromTOML(v)
		if err != nil {
			return nil, err
		}
		if err := only2020(document); err != nil {
			return nil, err
		}
		// As a query, so that references are relative to the folder.
		at = base + inline + url.QueryEscape(label)
		if err := s.compiler.AddResource(at, document); err != nil {
			return nil, err
		}
	default:
		return nil, errors.New("a schema is the name of a JSON file or an inline table")
	}
	compiled, err := s.compiler.Compile(at)
	if err != nil {
		return nil, explain(err)
	}
	if err := checkCost(compiled); err != nil {
		return nil, err
	}
	return &schema{compiled}, nil
}

// text is what compile takes as JSON; nil if that has failed.
func (s *schemas) text(v any) []byte {
	switch v := v.(type) {
	case string:
		return s.files[v]
	case map[string]any:
		document, err := fromTOML(v)
		if err != nil {
			return nil
		}
		text, _ := json.Marshal(document) // what JSON has
		return text
	}
	return nil
}

// Load reads a schema that another one refers to.
func (s *schemas) Load(address string) (any, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	name := strings.TrimPrefix(u.Path, "/")
	if !strings.HasPrefix(address, base) || !fs.ValidPath(name) {
		return nil, errors.New("a schema may refer only to files of the workflow's folder")
	}
	text, err := fs.ReadFile(s.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s in the folder", name)
	}
	if err != nil {
		return nil, err
	}
	document, err := expr.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place(name, text, err), err)
	}
	s.files[name] = text
	return document, only2020(document)
}

// place writes where in a JSON file an error is.
func place(name string, text []byte, err error) string {
	var at *expr.DecodeError
	if !errors.As(err, &at) {
		return name
	}
	before := string(text[:min(max(at.Offset, 0), int64(len(text)))])
	return fmt.Sprintf("%s:%d:%d", name, strings.Count(before, "\n")+1, len(before)-strings.LastIndex(before, "\n"))
}

func only2020(document any) error {
	object, _ := document.(map[string]any)
	if d, there := object["$schema"]; there && d != draft && d != draft+"#" {
		return fmt.Errorf("$schema is %v; Pawl reads %s", d, draft)
	}
	return nil
}

// explain takes the library's wrapping off: the addresses in it are ours.
func explain(err error) error {
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		if name, ours := strings.CutPrefix(load.URL, base); ours && !strings.Contains(load.Err.Error(), name) {
			return fmt.Errorf("%s: %w", name, load.Err)
		} else if !ours {
			return fmt.Errorf("%s: %w", load.URL, load.Err)
		}
		return load.Err
	}
	var invalid *jsonschema.SchemaValidationError
	var failed *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &failed) {
		p := problems(failed)[0]
		return fmt.Errorf("no valid JSON Schema: %s: %s", cmp.Or(p.Pointer, "at its top"), p.Message)
	}
	return errors.New(strings.ReplaceAll(err.Error(), base, ""))
}

// fromTOML turns what go-toml decodes into what [expr.Decode] would.
func fromTOML(v any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			var err error
			if out[name], err = fromTOML(value); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			var err error
			if out[i], err = fromTOML(value); err != nil {
				return nil, err
			}
		}
		return out, nil
	case string, bool, int64:
		return v, nil
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v, nil
		}
	}
	return nil, fmt.Errorf("%v is nothing that JSON has", v)
}
