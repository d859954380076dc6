package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/host/expr"
	"github.com/pawl-dev/pawl/host/tomlfile"
)

// format is the format of workflow.toml that this package reads.
const format = 1

const pageSize = 64 << 10 // bytes of a page of Wasm memory

var (
	validName    = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	validVersion = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}$`)
)

const nameRule = "a name begins with a-z and has up to 64 of a-z, 0-9 and _"

// Load reads workflow.toml and the schema files it names. The error holds every
// mistake that was found, each an [*Error].
func Load(fsys fs.FS) (*Workflow, error) {
	text, err := fs.ReadFile(fsys, FileName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, tomlfile.Errors{{File: FileName, Message: "there is no such file in the folder", Hint: "a workflow is a folder with a " + FileName}}
	}
	if err != nil {
		return nil, tomlfile.Errors{{File: FileName, Message: err.Error()}}
	}
	l := &loader{schemas: newSchemas(fsys)}
	if l.file, err = tomlfile.Read(FileName, text, &l.doc); err != nil {
		return nil, err
	}
	w := &Workflow{
		Name: l.doc.Workflow.Name, Version: l.doc.Workflow.Version, Deadline: time.Duration(l.doc.Workflow.Deadline),
		Budget: l.budget(), Modules: map[string]Module{},
	}
	l.workflow(w)
	l.steps(w)
	l.modules(w)
	if err := l.errs.Err(); err != nil {
		return nil, err
	}
	w.Files = l.schemas.files
	w.Files[FileName] = text
	return w, nil
}

type loader struct {
	file    *tomlfile.File
	doc     document
	schemas *schemas
	errs    tomlfile.Errors
}

func (l *loader) fail(p tomlfile.Path, message string, args ...any) *Error {
	e := l.file.Errorf(p, message, args...)
	l.errs = append(l.errs, e)
	return e
}

func (l *loader) workflow(w *Workflow) {
	at := tomlfile.Path{"workflow"}
	if p := (tomlfile.Path{"pawl"}); !l.file.Has(p) {
		l.fail(p, "pawl = %d is missing, the format of this file", format)
	} else if l.doc.Pawl != format {
		l.fail(p, "pawl = %d is a format that this Pawl does not read", l.doc.Pawl).WithHint("it reads %d", format)
	}
	l.name(at.Add("name"), w.Name, "the workflow")
	if !validVersion.MatchString(w.Version) {
		l.required(at.Add("version"), `a version is a text such as "1.0.0"`)
	}
	l.positive(at.Add("deadline"), int64(w.Deadline))
	switch l.doc.Workflow.OnFailure {
	case "", "hold":
	case "compensate":
		l.fail(at.Add("on_failure"), `on_failure: compensation does not exist yet; remove it or write "hold"`)
	default:
		l.fail(at.Add("on_failure"), `on_failure must be "hold", not %q`, l.doc.Workflow.OnFailure)
	}
	w.title = l.template(at.Add("title"), l.doc.Workflow.Title)
	w.labels = map[string]template{}
	for _, name := range slices.Sorted(maps.Keys(l.doc.Workflow.Labels)) {
		p := at.Add("labels", name)
		l.name(p, name, "the label")
		w.labels[name] = l.template(p, l.doc.Workflow.Labels[name])
	}
	w.input = l.schema(at.Add("input"), l.doc.Workflow.Input)
	w.schema = l.schemas.text(l.doc.Workflow.Input)
}

func (l *loader) budget() Budget {
	at := tomlfile.Path{"budget"}
	b := l.doc.Budget
	l.positive(at.Add("attempts"), int64(b.Attempts))
	l.positive(at.Add("calls"), int64(b.Calls))
	l.positive(at.Add("recoveries"), int64(b.Recoveries))
	l.positive(at.Add("active_time"), int64(b.ActiveTime))
	l.positive(at.Add("work"), b.Work)
	for _, unit := range slices.Sorted(maps.Keys(b.Units)) {
		p := at.Add("units", unit)
		l.name(p, unit, "the unit")
		if b.Units[unit] < 0 {
			l.fail(p, "%s must not be negative", unit)
		}
	}
	out := Budget{Attempts: b.Attempts, Calls: b.Calls, Recoveries: b.Recoveries, Active: time.Duration(b.ActiveTime), Work: b.Work, Units: b.Units}
	if out.Recoveries == 0 {
		out.Recoveries = DefaultRecoveries
	}
	return out
}

func (l *loader) steps(w *Workflow) {
	if len(l.doc.Steps) == 0 {
		l.fail(tomlfile.Path{"step"}, "the workflow has no step").WithHint("add a [[step]] with name and module")
	}
	for i, t := range l.doc.Steps {
		at := tomlfile.Path{"step", i}
		l.name(at.Add("name"), t.Name, "the step")
		if slices.ContainsFunc(l.doc.Steps[:i], func(earlier stepTable) bool { return earlier.Name == t.Name }) && t.Name != "" {
			l.fail(at.Add("name"), "two steps are named %q", t.Name).WithHint("a step is known by its name; give each its own")
		}
		s := Step{Name: t.Name, Module: t.Module, Retry: l.retry(at, t.Retry), Limits: l.limits(at, t.Limits)}
		s.Tools = l.grants(at, t)
		s.with = l.with(at, i)
		s.output = l.schema(at.Add("output"), t.Output)
		if !l.validModule(t.Module) {
			l.required(at.Add("module"), `a module is a .wasm file of this folder, such as "refund.wasm"`)
		} else {
			w.Modules[t.Module] = Module{Go: "."}
		}
		w.Steps = append(w.Steps, s)
	}
}

func (l *loader) validModule(name string) bool {
	return fs.ValidPath(name) && strings.HasSuffix(name, ".wasm") && path.Base(name) != ".wasm"
}

func (l *loader) retry(at tomlfile.Path, t retryTable) Retry {
	at = at.Add("retry")
	l.positive(at.Add("attempts"), int64(t.Attempts))
	l.positive(at.Add("backoff"), int64(t.Backoff))
	l.positive(at.Add("max_backoff"), int64(t.MaxBackoff))
	r := Retry{Attempts: max(t.Attempts, 1), Backoff: time.Duration(t.Backoff), MaxBackoff: time.Duration(t.MaxBackoff)}
	if r.Backoff == 0 {
		r.Backoff = DefaultBackoff
	}
	if r.MaxBackoff == 0 {
		r.MaxBackoff = max(DefaultMaxBackoff, r.Backoff)
	}
	if r.MaxBackoff < r.Backoff {
		l.fail(at.Add("max_backoff"), "max_backoff is %v, less than backoff, %v", r.MaxBackoff, r.Backoff)
	}
	return r
}

func (l *loader) limits(at tomlfile.Path, t limitsTable) Limits {
	at = at.Add("limits")
	l.positive(at.Add("calls"), int64(t.Calls))
	l.positive(at.Add("memory"), int64(t.Memory))
	l.positive(at.Add("work"), t.Work)
	if t.Memory%pageSize != 0 || t.Memory > 4<<30 {
		l.fail(at.Add("memory"), "memory is a multiple of 64KiB up to 4GiB")
	}
	return Limits{MemoryPages: uint32(t.Memory / pageSize), Calls: t.Calls, Work: t.Work}
}

func (l *loader) grants(at tomlfile.Path, t stepTable) []Grant {
	var out []Grant
	for i, name := range t.Tools {
		p := at.Add("tools", i)
		l.toolName(p, name)
		if slices.Contains(t.Tools[:i], name) {
			l.fail(p, "the tool %q is there twice", name)
		}
		g := Grant{Name: name, Use: name}
		if use := t.Tool[name].Use; use != "" {
			l.toolName(at.Add("tool", name, "use"), use)
			g.Use = use
		}
		out = append(out, g)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Tool)) {
		if slices.Contains(t.Tools, name) {
			continue
		}
		e := l.fail(at.Add("tool", name), "the step may not call %q", name).WithHint("add it to tools")
		if s := tomlfile.Suggest(name, t.Tools); s != "" {
			e.WithHint("did you mean %q?", s)
		}
	}
	return out
}

// with compiles the expressions of the i-th step. They know the input and the
// steps before it.
func (l *loader) with(at tomlfile.Path, i int) []field {
	at = at.Add("with")
	if !l.file.Has(at) {
		return nil
	}
	vars := []string{inputVar}
	for _, earlier := range l.doc.Steps[:i] {
		if validName.MatchString(earlier.Name) {
			vars = append(vars, stepVar(earlier.Name))
		}
	}
	with := l.doc.Steps[i].With
	out := []field{}
	for _, name := range slices.Sorted(maps.Keys(with)) {
		program, err := expr.Compile(with[name], vars...)
		if err != nil {
			e := l.fail(at.Add(name), "with.%s: %v", name, err)
			l.hintLater(e, with[name], i)
			continue
		}
		out = append(out, field{name, program})
	}
	return out
}

func (l *loader) hintLater(e *Error, src string, i int) {
	for j, t := range l.doc.Steps[i:] {
		if t.Name == "" || !strings.Contains(src, stepVar(t.Name)) {
			continue
		}
		if j == 0 {
			e.WithHint("%s cannot use its own output", t.Name)
		} else {
			e.WithHint("%s runs later", t.Name)
		}
	}
}

// modules reads the [module] tables.
func (l *loader) modules(w *Workflow) {
	used := slices.Sorted(maps.Keys(w.Modules))
	for _, name := range slices.Sorted(maps.Keys(l.doc.Modules)) {
		at := tomlfile.Path{"module", name}
		if !slices.Contains(used, name) {
			e := l.fail(at, "no step uses the module %q", name)
			if s := tomlfile.Suggest(name, used); s != "" {
				e.WithHint("did you mean %q?", s)
			}
			continue
		}
		dir := l.doc.Modules[name].Go
		if dir == "" {
			continue
		}
		if local := strings.TrimPrefix(dir, "./"); dir != "." && (!fs.ValidPath(local) || local == dir) {
			l.fail(at.Add("go"), "go is a folder of this folder, such as %q, not %q", "./steps", dir)
		}
		w.Modules[name] = Module{Go: dir}
	}
}

func (l *loader) schema(p tomlfile.Path, v any) *schema {
	s, err := l.schemas.compile(v, fmt.Sprint(p...))
	if err != nil {
		l.fail(p, "%s: %v", p[len(p)-1], err)
	}
	return s
}

func (l *loader) template(p tomlfile.Path, text string) template {
	t, err := parseTemplate(text)
	if err != nil {
		l.fail(p, "%s: %v", p[len(p)-1], err)
	}
	return t
}

func (l *loader) name(p tomlfile.Path, name, what string) {
	if !validName.MatchString(name) {
		if l.file.Has(p) {
			l.fail(p, "%q cannot name %s", name, what).WithHint(nameRule)
		} else {
			l.required(p, nameRule)
		}
	}
}

func (l *loader) toolName(p tomlfile.Path, name string) {
	if !abi.ValidToolName(name) {
		l.fail(p, "%q cannot name a tool", name).WithHint("a tool's name has up to 64 of a-z, 0-9, _, . and -")
	}
}

// required reports a key that is missing or has a value that breaks the rule.
func (l *loader) required(p tomlfile.Path, rule string) {
	if l.file.Has(p) {
		l.fail(p, "%s is not valid", p[len(p)-1]).WithHint("%s", rule)
	} else {
		l.fail(p, "%s is missing", p[len(p)-1]).WithHint("%s", rule)
	}
}

// positive refuses what is given and not above zero: leaving the key out is how
// a limit is taken away.
func (l *loader) positive(p tomlfile.Path, n int64) {
	if l.file.Has(p) && n <= 0 {
		l.fail(p, "%s must be above 0", p[len(p)-1]).WithHint("without the key the default holds")
	}
}
