package host_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
)

// plainTool cannot be asked; askedTool can.
type plainTool struct {
	id       string
	contract host.Contract
}

func (p plainTool) ID() string              { return p.id }
func (p plainTool) Contract() host.Contract { return p.contract }
func (p plainTool) Try(context.Context, *host.Call) host.Answer {
	return host.Answer{}
}

type askedTool struct{ plainTool }

func (askedTool) Verify(context.Context, *host.Call) host.Verdict { return host.Verdict{} }

func TestRegistry(t *testing.T) {
	t.Parallel()
	b := plainTool{id: "b"}
	a := askedTool{plainTool{id: "a", contract: host.Contract{Effect: host.Verify, Verifies: true}}}
	r, err := host.NewRegistry(b, a)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.IDs(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("IDs %q", got)
	}
	if got, ok := r.Tool("b"); !ok || got.ID() != "b" {
		t.Errorf("b: %v, %v", got, ok)
	}
	if _, ok := r.Tool("c"); ok {
		t.Error("there is no c")
	}
}

func TestNoRegistryIsEmpty(t *testing.T) {
	t.Parallel()
	var r *host.Registry
	if _, ok := r.Tool("a"); ok || len(r.IDs()) > 0 {
		t.Error("a nil registry has tools")
	}
	if r, err := host.NewRegistry(); err != nil || len(r.IDs()) > 0 {
		t.Errorf("no tools: %v, %v", r.IDs(), err)
	}
}

func TestRegistryRefuses(t *testing.T) {
	t.Parallel()
	asks := host.Contract{Verifies: true}
	for name, row := range map[string]struct {
		tools []host.Tool
		want  string
	}{
		"no tool":                      {[]host.Tool{nil}, "nil"},
		"a name in capitals":           {[]host.Tool{plainTool{id: "Pay"}}, "[a-z0-9_.-]"},
		"a name twice":                 {[]host.Tool{plainTool{id: "pay"}, plainTool{id: "pay"}}, "two tools"},
		"a contract without sense":     {[]host.Tool{plainTool{id: "pay", contract: host.Contract{Tries: -1}}}, "-1 tries"},
		"a promise without a method":   {[]host.Tool{plainTool{id: "pay", contract: asks}}, "no method Verify"},
		"a method without the promise": {[]host.Tool{askedTool{plainTool{id: "pay"}}}, "does not say"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := host.NewRegistry(row.tools...)
			var contractErr *host.ContractError
			if !errors.As(err, &contractErr) || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("got %v, want a ContractError with %q", err, row.want)
			}
			if row.tools[0] != nil && contractErr.Tool != row.tools[0].ID() {
				t.Errorf("names the tool %q", contractErr.Tool)
			}
		})
	}
}
