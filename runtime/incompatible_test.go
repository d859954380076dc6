package runtime_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
)

// Each pin of a run that does not fit this program is a difference of its own.
// The run is refused and shown with it, and nothing is executed; what fits is
// not touched by it.
//
// Seen red with each of the pins passed over, one by one, with pins that are
// not looked at before the run is taken over, and with a document that does not
// show them.
func TestEachPinThatDiffersIsNamed(t *testing.T) {
	long(t)
	t.Parallel()
	keyed, _, tools := keyedAndRead()
	b := setup(t, tools...)
	f := b.forger(b.deploy(folder(t, "", `tools = ["keyed"]`)))
	rows := []struct {
		pin, what string
		change    func(p *journal.Pins)
	}{
		{"", "", func(*journal.Pins) {}},
		{"abi", "begun with 99", func(p *journal.Pins) { p.ABI = 99 }},
		{"semantics", "begun with 99", func(p *journal.Pins) { p.Semantics = 99 }},
		{"state_format", "begun with 99", func(p *journal.Pins) { p.StateFormat = 99 }},
		{"arch", "begun with pdp11", func(p *journal.Pins) { p.Arch = "pdp11" }},
		{"tool fax", "missing", func(p *journal.Pins) { p.Tools["fax"] = p.Tools["keyed"] }},
		{"tool keyed", "cannot be read", func(p *journal.Pins) { p.Tools["keyed"] = []byte("?") }},
		{"tool keyed", "effect", func(p *journal.Pins) {
			p.Tools["keyed"] = []byte(strings.Replace(string(p.Tools["keyed"]), `"keyed"`, `"verify"`, 1))
		}},
	}
	id := func(i int) string { return fmt.Sprint("run-", i) }
	for i, row := range rows {
		f.begin(i, id(i), `{"one":[{"call":"keyed"}]}`, func(s *journal.Start) {
			s.Pins.Tools = maps.Clone(s.Pins.Tools)
			row.change(&s.Pins)
		}, nil)
	}
	b.reopen()
	for i, row := range rows {
		c := b.rest(b.find(id(i)))
		checkDocument(t, c)
		if row.pin == "" {
			completed(t, c)
			continue
		}
		if c.State != pawl.StateIncompatible || len(c.Differences) != 1 || c.Differences[0].Pin != row.pin || !strings.Contains(c.Differences[0].What, row.what) {
			t.Errorf("%s: state %s, %+v", row.pin, c.State, c.Differences)
		}
		if c.Seq != 1 || len(c.Actions) != 0 || c.Reasons[0].Code != "incompatible" {
			t.Errorf("%s: seq %d, %+v, %+v", row.pin, c.Seq, c.Actions, c.Reasons)
		}
		var incompatible *pawl.IncompatibleError
		if err := b.find(id(i)).Resume(); !errors.As(err, &incompatible) || len(incompatible.Differences) != 1 || incompatible.Run == "" {
			t.Errorf("%s: resume: %v", row.pin, err)
		}
		if _, err := pawl.Await[any](t.Context(), b.find(id(i))); !errors.Is(err, pawl.ErrIncompatible) {
			t.Errorf("%s: Await: %v", row.pin, err)
		}
	}
	if keyed.sent.Load() != 1 {
		t.Errorf("sent %d times", keyed.sent.Load())
	}
}

// Several differences are named all at once.
func TestAllDifferencesAreNamed(t *testing.T) {
	t.Parallel()
	b := setup(t, quickTool("keyed", host.Keyed, nil))
	f := b.forger(b.deploy(folder(t, "", `tools = ["keyed"]`)))
	f.begin(1, "r1", `{}`, func(s *journal.Start) {
		s.Pins.Tools = map[string][]byte{"fax": nil, "telex": nil}
		s.Pins.ABI, s.Pins.Semantics, s.Pins.StateFormat, s.Pins.Arch = 7, 8, 9, "pdp11"
	}, nil)
	var incompatible *pawl.IncompatibleError
	if err := b.find("r1").Resume(); !errors.As(err, &incompatible) {
		t.Fatal(err)
	}
	var pins []string
	for _, d := range incompatible.Differences {
		pins = append(pins, d.Pin)
	}
	if got := strings.Join(pins, ", "); got != "abi, semantics, state_format, arch, tool fax, tool telex" {
		t.Errorf("named %s", got)
	}
}
