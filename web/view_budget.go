package web

import (
	"cmp"
	"slices"
	"strings"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// budgetView is one budget: what was used of it, and a bar if it is limited.
type budgetView struct {
	Name, Used, Limit string // Limit is empty for one that is only counted
	Value, Max        int64  // of the bar
	Spent             bool
}

func budgetViews(b *pawl.Budgets) []budgetView {
	out := []budgetView{
		counter("attempts", b.Attempts, grouped), counter("calls", b.Calls, grouped),
		counter("active time", b.ActiveMS, func(ms int64) string { return lasted(time.Duration(ms) * time.Millisecond) }),
		counter("computing", b.Work, grouped),
	}
	again := counter("recoveries in a row", pawl.Counter{Limit: b.Recoveries.Limit, Used: b.Recoveries.InARow}, grouped)
	again.Used += ", " + grouped(b.Recoveries.Used) + " in all"
	out = append(out, again)
	var units []budgetView
	for unit, c := range b.Units {
		units = append(units, counter(words(unit), c, grouped))
	}
	slices.SortFunc(units, func(x, y budgetView) int { return cmp.Compare(x.Name, y.Name) })
	return append(out, units...)
}

func counter(name string, c pawl.Counter, write func(int64) string) budgetView {
	v := budgetView{Name: name, Used: strings.TrimSpace(write(c.Used))}
	if c.Limit != nil {
		v.Limit, v.Max = write(*c.Limit), max(*c.Limit, 1)
		v.Value, v.Spent = min(c.Used, v.Max), c.Used >= *c.Limit
	}
	return v
}
