package crashtest

import (
	"slices"
	"strings"
)

// tally counts effects that are the same but for their keys: two rightful equal
// effects have two keys, and the keys of two runs differ anyway.
type tally map[Effect]int

const keyPlaceholder = "{key}"

// count makes the tally of a ledger. Every key that the ledger knows is
// replaced wherever it stands.
func count(ledger []Effect) tally {
	keys := keysOf(ledger)
	t := tally{}
	for _, e := range ledger {
		for _, key := range keys {
			e.Body = strings.ReplaceAll(e.Body, key, keyPlaceholder)
		}
		e.Key = ""
		t[e]++
	}
	return t
}

// keysOf lists the keys of a ledger, the longest first.
func keysOf(ledger []Effect) (keys []string) {
	for _, e := range ledger {
		if e.Key != "" {
			keys = append(keys, e.Key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(keys)
}

// against compares a tally with that of the clean run.
func (t tally) against(clean tally) (more, less int) {
	for e, n := range t {
		more += max(0, n-clean[e])
	}
	for e, n := range clean {
		less += max(0, n-t[e])
	}
	return more, less
}

// repeated counts how often a key was applied again.
func repeated(ledger []Effect) (n int) {
	type keyed struct{ tool, key string }
	applied := map[keyed]bool{}
	for _, e := range ledger {
		k := keyed{e.Tool, e.Key}
		if e.Key != "" && applied[k] {
			n++
		}
		applied[k] = true
	}
	return n
}

// perTool counts the effects of each tool.
func perTool(ledger []Effect) map[string]int {
	n := map[string]int{}
	for _, e := range ledger {
		n[e.Tool]++
	}
	return n
}

// reached counts the requests of a tool.
func reached(requests []Request, tool string) (n int) {
	for _, r := range requests {
		if r.Tool == tool {
			n++
		}
	}
	return n
}
