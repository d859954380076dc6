package manifest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"maps"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/host/expr"
)

// FileName is the file that makes a folder a workflow.
const FileName = "workflow.toml"

// Workflow is a workflow that was loaded. It does not change and is safe for
// concurrent use.
type Workflow struct {
	Name, Version string
	// Deadline is absolute, counted from a run's start; 0 for none.
	Deadline time.Duration
	Budget   Budget
	// Steps run in this order. There is at least one.
	Steps []Step
	// Modules are those that steps name, by file name.
	Modules map[string]Module
	// Files are workflow.toml and the schema files as they were read.
	Files map[string][]byte

	input  *schema
	schema []byte // the input's, as JSON
	title  template
	labels map[string]template
}

// DefaultRecoveries is how often a run re-enters an attempt at one journal
// position when the workflow does not say.
const DefaultRecoveries = 5

// Budget is what a run may spend in total. 0 means without a limit.
type Budget struct {
	Attempts, Calls int
	// Recoveries count in a row at one journal position. Defaults to
	// DefaultRecoveries.
	Recoveries int
	// Active is the time in which the run neither waits nor lies still.
	Active time.Duration
	// Work is what the steps may compute, in the units of the sandbox.
	Work int64
	// Units has the limits of named units; one that is not there has none.
	Units map[string]int64
}

// Module says where a module comes from.
type Module struct {
	// Go is the package that it is built from, relative to the workflow's
	// folder, as `go build` takes it. Defaults to ".".
	Go string
}

// Digest is the workflow's identity: "sha256:..." over its files and the
// digests of its modules, by file name.
func (w *Workflow) Digest(modules map[string]string) string {
	h := sha256.New()
	add(h, "pawl workflow 1")
	for _, name := range slices.Sorted(maps.Keys(w.Files)) {
		add(h, "file", name, string(w.Files[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		add(h, "module", name, modules[name])
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// add writes each part after its length, so that no two lists are written alike.
func add(h hash.Hash, parts ...string) {
	for _, p := range parts {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
}

// CheckInput checks a run's input. The error is a [*SchemaError].
func (w *Workflow) CheckInput(text []byte) error { return w.input.check("input", text) }

// InputSchema is the JSON Schema of a run's input; nil if every JSON document is
// one. What it refers to in other files is in Files.
func (w *Workflow) InputSchema() json.RawMessage { return slices.Clone(w.schema) }

// Title is what people see of a run with this input; the workflow's name if it
// has no title. A field that the input does not have is empty.
func (w *Workflow) Title(input []byte) string {
	if len(w.title) == 0 {
		return w.Name
	}
	v, _ := expr.Decode(input) // nil, without any field, if it is no JSON
	return w.title.fill(v)
}

// Labels are what people search a run with this input by. A label without text
// is left out.
func (w *Workflow) Labels(input []byte) map[string]string {
	v, _ := expr.Decode(input)
	out := map[string]string{}
	for name, t := range w.labels {
		if text := t.fill(v); text != "" {
			out[name] = text
		}
	}
	return out
}
