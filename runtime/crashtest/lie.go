package crashtest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pawl-dev/pawl/host"
)

// Lie is a tool whose receiver is not what its declared class says. Whoever runs
// the workflow relies on the declaration, so it is the tool's fault, not the
// workflow's.
type Lie struct {
	// Tool is the tool's name as the steps call it, or the operator's id.
	Tool     string `json:"tool"`
	Declared string `json:"declared"` // its class
	Evidence string `json:"evidence"`
	Advice   string `json:"advice"`
}

// String says it in one sentence.
func (l Lie) String() string {
	return fmt.Sprintf("%s is declared %s, but %s: %s", l.Tool, l.Declared, l.Evidence, l.Advice)
}

// contract is that of a tool as the steps call it. The operator's ids differ
// only where a step renames a tool.
func (o *outcome) contract(tool string) (c host.Contract, known bool) {
	for i := range o.after.Steps {
		for j := range o.after.Steps[i].Calls {
			if call := &o.after.Steps[i].Calls[j]; call.Tool == tool {
				c, known = o.contracts[operatorID(call)]
				return c, known
			}
		}
	}
	return host.Contract{}, false
}

// lies finds the tools that a ledger shows to be something else than they are
// declared. where is the row, empty for the clean run.
func (o *outcome) lies(ledger []Effect, where string) (lies []Lie) {
	if where == "" {
		where = "the clean run"
	} else {
		where = "row " + where
	}
	type one struct{ tool, key string }
	times := map[one]int{}
	for _, e := range ledger {
		c, known := o.contract(e.Tool)
		if !known {
			continue
		}
		if c.Effect == host.Read {
			lies = append(lies, Lie{e.Tool, c.Effect.String(), "its receiver changed something (" + where + ")", "declare it once, or keyed if it takes keys"})
			continue
		}
		if times[one{e.Tool, e.Key}]++; e.Key == "" || times[one{e.Tool, e.Key}] != 2 {
			continue
		}
		switch {
		case c.Effect == host.Keyed:
			lies = append(lies, Lie{
				e.Tool, c.Effect.String(), fmt.Sprintf("its receiver applied the key %s twice (%s)", e.Key, where),
				"declare it verify or once, or mend the receiver",
			})
		case c.Verifies:
			lies = append(lies, Lie{
				e.Tool, c.Effect.String(), fmt.Sprintf("its verify query did not find the key %s, which had been applied (%s)", e.Key, where),
				"mend the query or what it asks, or declare the tool once",
			})
		}
	}
	return lies
}

// unfounded is the lie of a query that found what had not been applied: an effect
// is missing although the run went on as if it were there.
func (r *Row) unfounded(b *boundary) []Lie {
	switch {
	case r.Lost == 0 || !b.contract.Verifies:
		return nil
	case b.Point == H1, b.Point == H2, b.Point == BeforeWrite, b.mode == Lost, b.mode == NoCommit500:
		return []Lie{{
			b.Tool, b.contract.Effect.String(), fmt.Sprintf("its verify query found a call that had not been applied (row %s)", r.Name),
			"mend the query or what it asks, or declare the tool once",
		}}
	}
	return nil
}

// distinct leaves one lie of each tool: that is evidence enough.
func distinct(lies []Lie) []Lie {
	slices.SortStableFunc(lies, func(a, b Lie) int { return cmp.Compare(a.Tool, b.Tool) })
	return slices.CompactFunc(lies, func(a, b Lie) bool { return a.Tool == b.Tool })
}
