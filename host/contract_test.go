package host_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pawl-dev/pawl/host"
)

func TestDefaultsOfAContract(t *testing.T) {
	t.Parallel()
	got := host.Contract{}.WithDefaults()
	want := host.Contract{
		Effect: host.Once, Timeout: 30 * time.Second, Tries: 1, Backoff: 500 * time.Millisecond, MaxBackoff: 30 * time.Second,
		KeyWindow: 24 * time.Hour, Settle: 30 * time.Second,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(got, got.WithDefaults()); diff != "" {
		t.Errorf("a second filling in changes: %s", diff)
	}
	if never := (host.Contract{KeyWindow: host.NoKeyWindow}).WithDefaults().KeyWindow; never != host.NoKeyWindow {
		t.Errorf("no key window became %s", never)
	}
	if raised := (host.Contract{Backoff: time.Minute}).WithDefaults().MaxBackoff; raised != time.Minute {
		t.Errorf("a backoff of a minute is held under %s", raised)
	}
}

func TestWithDefaultsSharesNothing(t *testing.T) {
	t.Parallel()
	c := host.Contract{
		Units: []string{"tokens", "eur_cent"}, Rules: map[string]string{"method": "POST"},
		Compensation: &host.Compensation{Tool: "undo", Request: map[string]string{"id": "receipt.id"}},
	}
	full := c.WithDefaults()
	full.Units[0], full.Rules["method"], full.Compensation.Request["id"] = "x", "x", "x"
	if c.Units[0] != "tokens" || c.Units[1] != "eur_cent" || c.Rules["method"] != "POST" || c.Compensation.Request["id"] != "receipt.id" {
		t.Errorf("the contract was changed through its copy: %+v", c)
	}
}

// The digests are part of the pins of stored runs. A failure here means that
// all of them would stop as incompatible.
func TestDigestOfAContractNeverChanges(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		contract host.Contract
		want     string
	}{
		"nothing declared": {host.Contract{}, "sha256:be1313be3e4bc24c2204f9999fe41e7cd1a266ded7347b65038380b8539d83e0"},
		"everything declared": {host.Contract{
			Effect: host.Verify, Verifies: true, Timeout: time.Second, Tries: 3, Backoff: time.Millisecond, MaxBackoff: time.Minute,
			KeyWindow: host.NoKeyWindow, Settle: time.Hour, Units: []string{"tokens", "eur_cent"}, Kind: "http",
			Rules:        map[string]string{"method": "POST", "absent": "size(response.data) < 1"},
			Compensation: &host.Compensation{Tool: "undo", Request: map[string]string{"id": "receipt.id"}},
			Help:         "not identity",
		}, "sha256:430547988d9d815e7f3c01fbb69a7273b125100c324192e6c1fe8169f6a43a47"},
	} {
		if got := row.contract.Digest(); got != row.want {
			t.Errorf("%s: got %s, want %s", name, got, row.want)
		}
		if got := row.contract.WithDefaults().Digest(); got != row.want {
			t.Errorf("%s: filled in, the digest becomes %s", name, got)
		}
	}
}

// changes has one change for every field of a contract that is identity.
var changes = map[string]struct {
	change func(c *host.Contract)
	want   []string
}{
	"Effect":       {func(c *host.Contract) { c.Effect = host.Keyed }, []string{"effect: once -> keyed"}},
	"Verifies":     {func(c *host.Contract) { c.Verifies = true }, []string{"verifies: false -> true"}},
	"Timeout":      {func(c *host.Contract) { c.Timeout = time.Second }, []string{"timeout: 30s -> 1s"}},
	"Tries":        {func(c *host.Contract) { c.Tries = 2 }, []string{"tries: 1 -> 2"}},
	"Backoff":      {func(c *host.Contract) { c.Backoff = time.Second }, []string{"backoff: 500ms -> 1s"}},
	"MaxBackoff":   {func(c *host.Contract) { c.MaxBackoff = time.Minute }, []string{"max_backoff: 30s -> 1m0s"}},
	"KeyWindow":    {func(c *host.Contract) { c.KeyWindow = host.NoKeyWindow }, []string{"key_window: 24h0m0s -> never"}},
	"KeyFormat":    {func(c *host.Contract) { c.KeyFormat = host.KeyFormatUUID }, []string{"key_format: (none) -> uuid"}},
	"Settle":       {func(c *host.Contract) { c.Settle = time.Minute }, []string{"settle: 30s -> 1m0s"}},
	"Units":        {func(c *host.Contract) { c.Units = []string{"tokens"} }, []string{"units.tokens: (none) -> charged"}},
	"Kind":         {func(c *host.Contract) { c.Kind = "http" }, []string{`kind: "" -> "http"`}},
	"Rules":        {func(c *host.Contract) { c.Rules = map[string]string{"method": "PUT"} }, []string{`rules.method: (none) -> "PUT"`}},
	"Compensation": {func(c *host.Contract) { c.Compensation = &host.Compensation{Tool: "undo"} }, []string{`compensation.tool: (none) -> "undo"`}},
}

func TestEveryFieldIsInDigestAndDifferences(t *testing.T) {
	t.Parallel()
	for field := range reflect.TypeFor[host.Contract]().Fields() {
		row, ok := changes[field.Name]
		if notIdentity := field.Tag.Get("json") == "-"; ok == notIdentity {
			t.Errorf("field %s: add a change for it", field.Name)
			continue
		} else if notIdentity {
			continue
		}
		t.Run(field.Name, func(t *testing.T) {
			t.Parallel()
			var before, after host.Contract
			row.change(&after)
			if before.Digest() == after.Digest() {
				t.Error("the digests are equal")
			}
			if diff := cmp.Diff(row.want, before.Differences(after)); diff != "" {
				t.Error(diff)
			}
			if got := after.Differences(after); len(got) > 0 {
				t.Errorf("differs from itself: %q", got)
			}
		})
	}
}

func TestDifferencesListsRulesByName(t *testing.T) {
	t.Parallel()
	a := host.Contract{Effect: host.Keyed, Rules: map[string]string{"method": "POST", "absent": "status == 404", "gone": ""}}
	b := host.Contract{Effect: host.Keyed, Rules: map[string]string{"method": "POST", "absent": "status == 410", "applied": "true"}, Help: "other"}
	want := []string{
		`rules.absent: "status == 404" -> "status == 410"`,
		`rules.applied: (none) -> "true"`,
		`rules.gone: "" -> (none)`,
	}
	if diff := cmp.Diff(want, a.Differences(b)); diff != "" {
		t.Error(diff)
	}
}

func TestValidateRefusesAContract(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		contract host.Contract
		field    string
	}{
		"an unknown class":                         {host.Contract{Effect: 9}, "effect"},
		"verify without a way to ask":              {host.Contract{Effect: host.Verify}, "verifies"},
		"a negative time-out":                      {host.Contract{Timeout: -1}, "timeout"},
		"a settle that wraps around":               {host.Contract{Settle: math.MaxInt64}, "settle"}, // seen red without the bound
		"a negative settle":                        {host.Contract{Settle: -time.Second}, "settle"},
		"a negative key window other than never":   {host.Contract{KeyWindow: -2}, "key_window"},
		"an unknown key format":                    {host.Contract{KeyFormat: "hex"}, "key_format"},
		"negative tries":                           {host.Contract{Tries: -1}, "tries"},
		"a backoff above the largest":              {host.Contract{Backoff: time.Second, MaxBackoff: time.Millisecond}, "max_backoff"},
		"a unit with a space":                      {host.Contract{Units: []string{"eur cent"}}, "units"},
		"a unit twice":                             {host.Contract{Units: []string{"a", "a"}}, "units"},
		"a kind in capitals":                       {host.Contract{Kind: "HTTP"}, "kind"},
		"a compensation without a tool":            {host.Contract{Compensation: &host.Compensation{}}, "compensation"},
		"a rule that is not UTF-8":                 {host.Contract{Rules: map[string]string{"a": "\xff"}}, "rules"},
		"a compensation's request that is not so":  {host.Contract{Compensation: &host.Compensation{Tool: "a", Request: map[string]string{"\xff": ""}}}, "compensation"},
		"a default largest under a larger backoff": {host.Contract{Backoff: time.Hour, MaxBackoff: time.Minute}, "max_backoff"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := row.contract.Validate()
			var contractErr *host.ContractError
			if !errors.As(err, &contractErr) || contractErr.Field != row.field {
				t.Errorf("got %v, want an error of the field %s", err, row.field)
			}
		})
	}
	for name, c := range map[string]host.Contract{
		"nothing declared": {},
		"no key window":    {Effect: host.Keyed, KeyWindow: host.NoKeyWindow},
		"a long backoff":   {Backoff: time.Hour},
	} {
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClassAsText(t *testing.T) {
	t.Parallel()
	for _, want := range []host.Class{host.Once, host.Read, host.Keyed, host.Verify} {
		text, err := want.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var got host.Class
		if err := got.UnmarshalText(text); err != nil || got != want {
			t.Errorf("%s became %s, %v", want, got, err)
		}
	}
	var c host.Class
	if err := c.UnmarshalText([]byte("exactly-once")); err == nil || !strings.Contains(err.Error(), "exactly-once") {
		t.Errorf("an unknown class: %v", err)
	}
}
