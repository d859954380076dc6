package httptool

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
)

// readUnits reads what an answer charges. The message names the units that
// could not be read; the others are returned all the same.
func readUnits(units map[string]pointer, r host.Response) (map[string]int64, string) {
	if len(units) == 0 {
		return nil, ""
	}
	amounts, message := map[string]int64{}, ""
	for _, name := range slices.Sorted(maps.Keys(units)) {
		n, ok := wholeNumber(units[name], r)
		if ok {
			amounts[name] = n
			continue
		}
		if message != "" {
			message += "; "
		}
		message += fmt.Sprintf("the answer has no whole, non-negative number of %s at its place", name)
	}
	return amounts, message
}

func wholeNumber(p pointer, r host.Response) (int64, bool) {
	if r.Type != abi.TypeJSON {
		return 0, false
	}
	raw, ok := p.get(r.Body)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(raw)), 10, 64)
	return n, err == nil && n >= 0
}

func (b *builder) units() {
	b.tool.units = map[string]pointer{}
	b.tool.contract.Units = nil
	for _, name := range slices.Sorted(maps.Keys(b.cfg.Units)) {
		p, err := parsePointer(b.cfg.Units[name])
		if err != nil {
			b.faultAt("units", name, "%v", err)
		}
		b.tool.units[name] = p
		b.tool.contract.Units = append(b.tool.contract.Units, name)
	}
}
