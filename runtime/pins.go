package runtime

import (
	"encoding/json"
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"
	"sync"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// pins are what a run of the workflow would be begun with. Tools that are not
// there are differences.
func (e *Engine) pins(w *Workflow) (journal.Pins, []Difference) {
	p := journal.Pins{
		Modules: map[string]string{}, Tools: map[string][]byte{}, ABI: abi.Version,
		Semantics: sandbox.Semantics, StateFormat: journal.Format, Arch: goruntime.GOARCH,
	}
	for name, ref := range w.deployed.Modules {
		p.Modules[name] = ref.Digest()
	}
	var missing []Difference
	for _, id := range w.toolIDs() {
		tool, ok := e.tool(id)
		if !ok {
			missing = append(missing, Difference{"tool " + id, "missing: no such tool is registered"})
			continue
		}
		contract, err := json.Marshal(tool.Contract().WithDefaults())
		if err != nil { // a contract is plain data
			missing = append(missing, Difference{"tool " + id, err.Error()})
			continue
		}
		p.Tools[id] = contract
	}
	return p, missing
}

// differences lists what differs between the run's pins and this program.
func (e *Engine) differences(pinned journal.Pins) []Difference {
	var diffs []Difference
	number := func(pin string, now, was any) {
		if now != was {
			diffs = append(diffs, Difference{pin, fmt.Sprintf("this program has %v, the run was begun with %v", now, was)})
		}
	}
	number("abi", abi.Version, pinned.ABI)
	number("semantics", sandbox.Semantics, pinned.Semantics)
	number("state_format", journal.Format, pinned.StateFormat)
	number("arch", goruntime.GOARCH, pinned.Arch)
	for _, name := range slices.Sorted(maps.Keys(pinned.Modules)) {
		if found, err := e.book.HasModule(pinned.Modules[name]); err == nil && !found {
			diffs = append(diffs, Difference{"module " + name, "missing: " + pinned.Modules[name] + " is not in the store"})
		}
	}
	return append(diffs, e.toolDifferences(pinned)...)
}

// toolDifferences lists the pinned tools that are missing or promise something
// else.
func (e *Engine) toolDifferences(pinned journal.Pins) (diffs []Difference) {
	for _, id := range slices.Sorted(maps.Keys(pinned.Tools)) {
		tool, ok := e.tool(id)
		if !ok {
			diffs = append(diffs, Difference{"tool " + id, "missing: no such tool is registered"})
			continue
		}
		was, err := e.contracts.of(pinned, id)
		if err != nil {
			diffs = append(diffs, Difference{"tool " + id, "its pinned contract cannot be read: " + err.Error()})
			continue
		}
		for _, line := range was.Differences(tool.Contract()) {
			diffs = append(diffs, Difference{"tool " + id, "contract changed, " + line})
		}
	}
	return diffs
}

// pinned is the contract of a tool that a run was begun with. It is shared:
// nobody changes it.
type pinned struct {
	host.Contract
	digest string
}

// contracts remembers contracts by their recorded text. They are as many as
// operators ever wrote, and every document tells the digests of a run's.
type contracts struct{ known sync.Map }

// of is the contract of a tool that the run was begun with.
func (m *contracts) of(p journal.Pins, id string) (*pinned, error) {
	text := string(p.Tools[id])
	if known, ok := m.known.Load(text); ok {
		return known.(*pinned), nil
	}
	var c host.Contract
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return nil, err
	}
	known, _ := m.known.LoadOrStore(text, &pinned{c, c.Digest()})
	return known.(*pinned), nil
}
