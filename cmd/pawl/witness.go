package main

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
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

	mu      sync.Mutex // guards answers
	answers map[answered][]string
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

// lies are the tools that are declared keyed and whose receiver answered a key
// in two ways. One per tool is evidence enough.
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
		answers := w.answers[k]
		i := slices.IndexFunc(answers, func(a string) bool { return a != answers[0] })
		if i < 0 || found[k.tool] || w.declared[k.tool].contract.Effect != host.Keyed {
			continue
		}
		found[k.tool] = true
		lies = append(lies, crashtest.Lie{
			Tool: k.tool, Declared: host.Keyed.String(),
			Evidence: fmt.Sprintf("its receiver answered the key %s first with %s and then with %s", k.key, brief(answers[0]), brief(answers[i])),
			Advice:   "declare it verify or once, or mend the receiver",
		})
	}
	return lies
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
