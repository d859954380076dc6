package toolfile

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/host/tomlfile"
)

// Kind makes the tool that one table describes. It calls decode once, with a
// pointer to a struct of its own whose fields have `toml` tags, none named like
// those that every kind has (kind, effect, timeout, retry, help, compensate);
// decode fills it and returns what the table says for every kind. secrets are
// all that the file names.
//
// An error, or each of those that errors.Join made one, may say which key it is
// about by a method TablePath() []string: the keys below the tool's table.
type Kind func(id string, decode func(dst any) (host.Contract, error), secrets map[string]host.Secret) (host.Tool, error)

// Load reads a tools file. kinds are the kinds of tools by the name that a
// table's key `kind` gives. Mistakes are all returned at once, as
// [tomlfile.Errors] with their places.
func Load(path string, kinds map[string]Kind) (*host.Registry, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the tools file cannot be read: %w", err)
	}
	return Parse(path, data, kinds)
}

// Parse is [Load] for a text at hand. name is used in errors; files of secrets
// are looked for from its folder.
func Parse(name string, data []byte, kinds map[string]Kind) (*host.Registry, error) {
	r := &reader{name: name, data: data, folder: filepath.Dir(name), kinds: kinds, files: map[string]*tomlfile.File{}}
	var top struct {
		Pawl   int                       `toml:"pawl"`
		Secret map[string]secret         `toml:"secret"`
		Tool   map[string]map[string]any `toml:"tool"`
	}
	var err error
	if r.file, err = tomlfile.Read(name, data, &top); err != nil {
		return nil, err
	}
	if top.Pawl != 1 {
		r.fault(tomlfile.Path{"pawl"}, "the file must say pawl = 1, its format; this program knows no other")
	}
	secrets := r.secrets(top.Secret)
	r.tables = top.Tool
	if r.checkIDs() {
		r.makeTools(secrets)
	}
	if err := r.wrong.Err(); err != nil {
		return nil, err
	}
	return host.NewRegistry(r.tools...)
}

// reader reads one file and notes everything that is wrong.
type reader struct {
	name, folder string
	data         []byte
	kinds        map[string]Kind
	file         *tomlfile.File
	files        map[string]*tomlfile.File // as they were read for one tool
	tables       map[string]map[string]any
	tools        []host.Tool
	wrong        tomlfile.Errors
}

func (r *reader) fault(p tomlfile.Path, format string, args ...any) *tomlfile.Error {
	e := r.fileOf(p).Errorf(p, format, args...)
	r.wrong = append(r.wrong, e)
	return e
}

// fileOf returns the reading that knows the place of p best: the places within
// a tool's table are known to the one that was made for that tool.
func (r *reader) fileOf(p tomlfile.Path) *tomlfile.File {
	if len(p) > 1 && p[0] == "tool" {
		if f := r.files[p[1].(string)]; f != nil {
			return f
		}
	}
	return r.file
}

// ids are the ids of all tools in their order.
func (r *reader) ids() []string { return slices.Sorted(maps.Keys(r.tables)) }

// checkIDs notes ids that cannot be one and reports whether there were none.
func (r *reader) checkIDs() bool {
	all := true
	for _, id := range r.ids() {
		if !abi.ValidToolName(id) || id == "-" {
			r.fault(tomlfile.Path{"tool", id}, "%q cannot be the id of a tool ([a-z0-9_.-]{1,64})", id)
			all = false
		}
	}
	return all
}

func (r *reader) makeTools(secrets map[string]host.Secret) {
	for _, id := range r.ids() {
		kind := r.kind(id)
		if kind == nil {
			continue
		}
		tool, err := kind(id, func(dst any) (host.Contract, error) { return r.decode(id, dst) }, secrets)
		if err == nil {
			_, err = host.NewRegistry(tool)
		}
		if err != nil {
			r.faults(id, err)
			continue
		}
		r.tools = append(r.tools, tool)
	}
}

// kind returns the kind that a table names, nil if it names none.
func (r *reader) kind(id string) Kind {
	named, given := r.tables[id]["kind"].(string)
	if kind, ok := r.kinds[named]; ok {
		return kind
	}
	known := slices.Sorted(maps.Keys(r.kinds))
	path := tomlfile.Path{"tool", id, "kind"}
	if given {
		e := r.fault(path, "there is no kind of tool %q", named).WithHint("known: %s", strings.Join(known, ", "))
		if s := tomlfile.Suggest(named, known); s != "" {
			e.WithHint("did you mean %q?", s)
		}
		return nil
	}
	e := r.fault(path, "the tool %s needs a kind", id).WithHint("known: %s", strings.Join(known, ", "))
	for inner, v := range r.tables[id] {
		if t, ok := v.(map[string]any); ok && t["kind"] != nil {
			e.WithHint("an id with a dot needs quotes: [tool.%q]", id+"."+inner)
		}
	}
	return nil
}

// faults notes what is wrong with a tool, at the keys that the errors name.
func (r *reader) faults(id string, err error) {
	var placed interface{ TablePath() []string }
	var contract *host.ContractError
	switch e := err.(type) { //nolint:errorlint // the tree of errors itself is walked
	case tomlfile.Errors:
		r.wrong = append(r.wrong, e...)
		return
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			r.faults(id, one)
		}
		return
	}
	path, message := tomlfile.Path{"tool", id}, err.Error()
	switch {
	case errors.As(err, &placed):
		for _, key := range placed.TablePath() {
			path = append(path, key)
		}
	case errors.As(err, &contract):
		path, message = append(path, tableKeys(contract.Field)...), contract.Field+": "+contract.Reason
	}
	r.fault(path, "%s", message)
}

// tableKeys says where the file has what a contract calls by that name.
func tableKeys(field string) []any {
	switch field {
	case "tries", "backoff", "max_backoff":
		return []any{"retry", field}
	case "compensation":
		return []any{"compensate"}
	}
	return []any{field}
}

// positive is a duration that is more than nothing if it is given at all.
func (r *reader) positive(p tomlfile.Path, d tomlfile.Duration) time.Duration {
	if d == 0 && r.fileOf(p).Has(p) {
		r.fault(p, "%s must be more than 0", p[len(p)-1])
	}
	return time.Duration(d)
}
