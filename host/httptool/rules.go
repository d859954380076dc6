package httptool

import (
	"fmt"
	"slices"
	"strings"
)

// rules fills in the identity of the tool: what it does, how its answers are
// read, how it is asked. Where requests go and the headers, which hold versions
// and secrets of the day, are not part of it; the path of the verify query is:
// it says what is asked.
func (b *builder) rules(v *askable) {
	t, c := b.tool, &b.tool.contract
	c.Kind = "http"
	c.Verifies = v != nil
	c.Rules = map[string]string{
		"method": t.method,
		"body":   t.body,
		"key":    t.keyPlace(b.cfg.Key.JSON),
	}
	for name := range t.units {
		c.Rules["units."+name] = b.cfg.Units[name]
	}
	for _, list := range b.cfg.Answer.lists() {
		if len(list.statuses) > 0 {
			c.Rules["answer."+list.outcome.String()] = numbers(list.statuses)
		}
	}
	if v == nil {
		return
	}
	c.Rules["verify.path"] = v.query.identity()
	c.Rules["verify.applied"], c.Rules["verify.absent"] = "2xx", "404"
	if v.applied != nil {
		c.Rules["verify.applied"], c.Rules["verify.absent"] = v.applied.Source(), v.absent.Source()
	}
	c.Rules["verify.receipt"] = b.cfg.Verify.Receipt
}

func (t *tool) keyPlace(inBody string) string {
	switch {
	case inBody != "":
		return "json " + inBody
	case t.keyQuery != "":
		return "query " + t.keyQuery
	case t.keyHeader != "":
		return "header " + t.keyHeader
	}
	return "none"
}

func numbers(list []int) string {
	list = slices.Clone(list)
	slices.Sort(list)
	return strings.Trim(fmt.Sprint(list), "[]")
}
