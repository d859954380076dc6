package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/runtime/crashtest"
	"github.com/pawl-dev/pawl/runtime/crashtest/fakes/standin"
)

// witness keeps what real receivers answered to each key, over all rows. It is
// safe for concurrent use. A nil one has seen nothing.
type witness struct {
	plan     *standin.Plan
	declared map[string]*declared

	mu      sync.Mutex // guards what follows
	answers map[answered][]string
	failed  map[string]*failing // by tool
}

// failing are the requests of a tool that could not be passed on.
type failing struct {
	times int
	first error
}

// answered is a key of a tool. Each row has a store of its own, so no two rows
// have a key in common.
type answered struct{ tool, key string }

// saw takes an answer down.
func (w *witness) saw(tool, key string, status int, body []byte) {
	if key == "" || status/100 != 2 {
		return // it settles nothing
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	k := answered{tool, key}
	w.answers[k] = append(w.answers[k], string(body))
}

// lost takes down that a request could not be passed on.
func (w *witness) lost(tool string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = map[string]*failing{}
	}
	f := w.failed[tool]
	if f == nil {
		f = &failing{first: err}
		w.failed[tool] = f
	}
	f.times++
}

// trouble says which requests could not be passed on; empty if all could.
func (w *witness) trouble() string {
	if w == nil {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var parts []string
	for _, tool := range slices.Sorted(maps.Keys(w.failed)) {
		f := w.failed[tool]
		parts = append(parts, fmt.Sprintf("%d requests of %s had no answer, the first: %v", f.times, tool, f.first))
	}
	return strings.Join(parts, "; ")
}

// lies are the tools that are declared keyed and whose receiver answered a key
// in two ways, and those that can be asked and did a key twice: the query had not
// found it. One per tool is evidence enough.
func (w *witness) lies() (lies []crashtest.Lie) {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[string]bool{}
	keys := slices.SortedFunc(maps.Keys(w.answers), func(a, b answered) int {
		return cmp.Or(strings.Compare(a.tool, b.tool), strings.Compare(a.key, b.key))
	})
	for _, k := range keys {
		answers, c := w.answers[k], w.declared[k.tool].contract
		i := slices.IndexFunc(answers, func(a string) bool { return !sameAnswer(a, answers[0]) })
		l := crashtest.Lie{Tool: k.tool, Declared: c.Effect.String()}
		switch {
		case found[k.tool]:
			continue
		case c.Effect == host.Keyed && i > 0:
			l.Evidence = fmt.Sprintf("its receiver answered the key %s first with %s and then with %s", k.key, brief(answers[0]), brief(answers[i]))
			l.Advice = "look whether it acted twice: then declare it verify or once, or mend the receiver; if only the answer is another, a run that was killed may put out another result"
		case c.Effect == host.Verify && len(answers) > 1:
			l.Evidence = fmt.Sprintf("its receiver was asked for the key %s, did not find it, and did it again", k.key)
			l.Advice = "mend the query or what it asks, or declare the tool once"
		default:
			continue
		}
		found[k.tool] = true
		lies = append(lies, l)
	}
	return lies
}

// sameAnswer reports whether two answers say the same, however their JSON is
// written.
func sameAnswer(a, b string) bool {
	if a == b {
		return true
	}
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

func brief(text string) string {
	const most = 200
	text = strings.TrimSpace(text)
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

func (w *witness) untested() string {
	return "Not tested: what the receivers did, since only requests and answers were seen on the way to them; and whether outputs are equal, " +
		"since receivers that have served a run before may answer the next one differently."
}

// places are the origins that the tools reach, and whether all are this machine.
func (w *witness) places() (places []string, here bool) {
	here = true
	for id := range w.plan.Tools {
		for _, address := range w.declared[id].addresses() {
			u, err := url.Parse(originOf(address))
			if err != nil {
				continue // it was checked when the file was read
			}
			places = append(places, u.String())
			name := u.Hostname()
			here = here && (name == "localhost" || isLoopback(name))
		}
	}
	slices.Sort(places)
	return slices.Compact(places), here
}

func (d *declared) addresses() []string {
	addresses := []string{d.config.URL}
	if d.config.Verify != nil {
		addresses = append(addresses, d.config.Verify.URL)
	}
	return addresses
}

// originOf is the scheme, host and port of an address.
func originOf(address string) string { return strings.TrimSuffix(address, pathOf(address)) }
