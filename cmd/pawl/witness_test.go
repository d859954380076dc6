package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
)

// What real receivers answered to a key tells which tools are not what they are
// declared to be.
//
// Seen red with answers compared as text, and with keyed tools looked at alone.
func TestWhatAnswersTellOfTools(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		class   host.Class
		answers []string
		says    string // of the lie; empty for none
	}{
		"keyed, the same again":               {host.Keyed, []string{`{"id":"a","n":1}`, `{"id":"a","n":1}`}, ""},
		"keyed, the same written another way": {host.Keyed, []string{`{"id":"a","n":1}`, `{ "n": 1, "id": "a" }`}, ""},
		"keyed, another":                      {host.Keyed, []string{`{"id":"a"}`, `{"id":"b"}`}, `first with {"id":"a"} and then with {"id":"b"}`},
		"verify, once":                        {host.Verify, []string{`{"id":"a"}`}, ""},
		"verify, again":                       {host.Verify, []string{`{"id":"a"}`, `{"id":"a"}`}, "did not find it, and did it again"},
		"once, once":                          {host.Once, []string{`{"id":"a"}`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &witness{declared: map[string]*declared{"pay": {contract: host.Contract{Effect: row.class}}}, answers: map[answered][]string{}}
			for _, answer := range row.answers {
				w.saw("pay", "K", 201, []byte(answer))
			}
			w.saw("pay", "K", 503, []byte("down")) // settles nothing
			w.saw("pay", "", 200, []byte("no key"))
			lies := w.lies()
			if (row.says == "") != (len(lies) == 0) {
				t.Fatalf("%v, want %q", lies, row.says)
			}
			if row.says != "" && (lies[0].Tool != "pay" || lies[0].Declared != row.class.String() || !strings.Contains(lies[0].Evidence, row.says)) {
				t.Errorf("%+v", lies[0])
			}
		})
	}
}

// Which receivers could not be reached is told once for each tool.
func TestReceiversThatWereNotThere(t *testing.T) {
	t.Parallel()
	w := &witness{}
	if said := w.trouble(); said != "" {
		t.Errorf("trouble: %s", said)
	}
	w.lost("pay", errors.New("connection refused"))
	w.lost("pay", errors.New("connection reset"))
	if said := w.trouble(); said != "2 requests of pay had no answer, the first: connection refused" {
		t.Errorf("trouble: %s", said)
	}
}
