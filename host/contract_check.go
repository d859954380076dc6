package host

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/host/abi"
)

// Validate returns a [*ContractError] for the first field that makes no sense,
// or nil.
func (c Contract) Validate() error {
	for _, check := range []func() *ContractError{c.checkClass, c.checkTimes, c.checkKeyFormat, c.checkNames, c.checkText} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c Contract) checkClass() *ContractError {
	switch {
	case int(c.Effect) >= len(classNames):
		return &ContractError{Field: "effect", Reason: fmt.Sprintf("no class has the number %d (read, keyed, verify, once)", uint8(c.Effect))}
	case c.Effect == Verify && !c.Verifies:
		return &ContractError{Field: "verifies", Reason: "a tool of the class verify must say how it is asked what became of a key"}
	case c.Tries < 0:
		return &ContractError{Field: "tries", Reason: fmt.Sprintf("%d tries; the least is 1", c.Tries)}
	}
	return nil
}

// longest bounds each time of a contract, so that their sums are times too: a
// moment that has wrapped around would be over at once.
const longest = 100 * 365 * 24 * time.Hour

func (c Contract) checkTimes() *ContractError {
	for _, f := range []struct {
		name  string
		value time.Duration
	}{
		{"timeout", c.Timeout},
		{"backoff", c.Backoff},
		{"max_backoff", c.MaxBackoff},
		{"key_window", c.KeyWindow},
		{"settle", c.Settle},
	} {
		if f.value < 0 && !(f.name == "key_window" && f.value == NoKeyWindow) {
			return &ContractError{Field: f.name, Reason: fmt.Sprintf("%s is less than nothing", f.value)}
		}
		if f.value > longest {
			return &ContractError{Field: f.name, Reason: fmt.Sprintf("%s is more than a hundred years", f.value)}
		}
	}
	if full := c.WithDefaults(); full.MaxBackoff < full.Backoff {
		return &ContractError{Field: "max_backoff", Reason: fmt.Sprintf("%s is less than the backoff of %s", full.MaxBackoff, full.Backoff)}
	}
	return nil
}

func (c Contract) checkNames() *ContractError {
	seen := map[string]bool{}
	for _, unit := range c.Units {
		if !abi.ValidCode(unit) {
			return &ContractError{Field: "units", Reason: fmt.Sprintf("%q cannot be the name of a unit ([a-z0-9_]{1,64})", unit)}
		}
		if seen[unit] {
			return &ContractError{Field: "units", Reason: fmt.Sprintf("%q is named twice", unit)}
		}
		seen[unit] = true
	}
	if c.Kind != "" && !abi.ValidToolName(c.Kind) {
		return &ContractError{Field: "kind", Reason: fmt.Sprintf("%q cannot be the name of a kind ([a-z0-9_.-]{1,64})", c.Kind)}
	}
	if c.Compensation != nil && !abi.ValidToolName(c.Compensation.Tool) {
		return &ContractError{Field: "compensation", Reason: fmt.Sprintf("%q cannot be the name of a tool ([a-z0-9_.-]{1,64})", c.Compensation.Tool)}
	}
	return nil
}

// checkText refuses what JSON would replace: two contracts that differ only
// there would have one digest.
func (c Contract) checkText() *ContractError {
	texts := map[string]map[string]string{"rules": c.Rules}
	if c.Compensation != nil {
		texts["compensation"] = c.Compensation.Request
	}
	for _, field := range slices.Sorted(maps.Keys(texts)) {
		for name, value := range texts[field] {
			if !utf8.ValidString(name) || !utf8.ValidString(value) {
				return &ContractError{Field: field, Reason: fmt.Sprintf("%q is not UTF-8", name+" = "+value)}
			}
		}
	}
	return nil
}

// Differences returns one line for each field in which the contracts differ,
// such as "timeout: 30s -> 20s", in the order of their names; rules are listed
// by name. Of contracts that Validate accepts it is empty exactly when the
// digests are equal.
func (c Contract) Differences(other Contract) []string {
	from, to := c.shown(), other.shown()
	names := map[string]bool{}
	for name := range from {
		names[name] = true
	}
	for name := range to {
		names[name] = true
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, b := from[name], to[name]
		if a != b {
			lines = append(lines, fmt.Sprintf("%s: %s -> %s", name, orNone(a), orNone(b)))
		}
	}
	return lines
}

// shown returns the contract's identity for people. No value is empty.
func (c Contract) shown() map[string]string {
	c = c.WithDefaults()
	m := map[string]string{
		"effect":      c.Effect.String(),
		"verifies":    fmt.Sprint(c.Verifies),
		"timeout":     c.Timeout.String(),
		"tries":       fmt.Sprint(c.Tries),
		"backoff":     c.Backoff.String(),
		"max_backoff": c.MaxBackoff.String(),
		"key_window":  c.KeyWindow.String(),
		"settle":      c.Settle.String(),
		"kind":        quote(c.Kind),
	}
	if c.KeyWindow == NoKeyWindow {
		m["key_window"] = "never"
	}
	if c.KeyFormat != "" {
		m["key_format"] = c.KeyFormat
	}
	for _, unit := range c.Units {
		m["units."+unit] = "charged"
	}
	for name, value := range c.Rules {
		m["rules."+name] = quote(value)
	}
	if c.Compensation != nil {
		m["compensation.tool"] = quote(c.Compensation.Tool)
		for name, value := range c.Compensation.Request {
			m["compensation.request."+name] = quote(value)
		}
	}
	return m
}

// quote writes a text as the digest sees it: in JSON.
func quote(s string) string {
	text, _ := json.Marshal(s) // a string always has a JSON form
	return string(text)
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}
