package host_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/host"
)

type shower struct {
	*fakeTool
	show  func() ([]byte, error)
	check func() error
}

func (s shower) Show(*host.Call) ([]byte, error) { return s.show() }

func (s shower) Check(*host.Call) error { return s.check() }

// Seen red with the body shown as it came.
func TestShowOfAToolThatCannot(t *testing.T) {
	t.Parallel()
	tool := &fakeTool{contract: shape(host.Once, 1)}
	for name, row := range map[string]struct{ typ, body, want string }{
		"JSON":       {"json", `{ "b": 9007199254740993, "a": "é" }`, `{"body":{"a":"é","b":9007199254740993},"tool":"pay","type":"json"}`},
		"bytes":      {"bytes", "a{\x00", `{"body":"YXsA","tool":"pay","type":"bytes"}`},
		"no bytes":   {"bytes", "", `{"body":"","tool":"pay","type":"bytes"}`},
		"broken":     {"json", `{`, ""},
		"two values": {"json", `{} {}`, ""},
	} {
		call := &host.Call{Tool: "pay", Type: row.typ, Body: []byte(row.body)}
		text, hash, err := host.Show(tool, call)
		if string(text) != row.want || (err == nil) != (row.want != "") || (hash == host.Hash{}) != (row.want == "") {
			t.Errorf("%s: %s, %s, %v", name, text, hash, err)
		}
	}
}

// Whatever differs for the person who approves has another hash.
//
// Seen red with the tool and the text left out of it.
func TestHashOfWhatIsShown(t *testing.T) {
	t.Parallel()
	seen := map[host.Hash]string{}
	for name, row := range map[string]struct{ tool, text string }{
		"one":           {"pay", "POST /refunds 20"},
		"another text":  {"pay", "POST /refunds 200"},
		"another tool":  {"pay.eu", "POST /refunds 20"},
		"moved borders": {"payPOST", " /refunds 20"},
	} {
		tool := shower{fakeTool: &fakeTool{}, show: func() ([]byte, error) { return []byte(row.text), nil }}
		text, hash, err := host.Show(tool, &host.Call{Tool: row.tool})
		if err != nil || string(text) != row.text {
			t.Errorf("%s: %s, %v", name, text, err)
		}
		if other, ok := seen[hash]; ok {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[hash] = name
	}
	// Part of what approvals are bound to: it must not change.
	tool := shower{fakeTool: &fakeTool{}, show: func() ([]byte, error) { return []byte("POST"), nil }}
	if _, hash, _ := host.Show(tool, &host.Call{Tool: "pay"}); hash.String() != "sha256:9fac8d8f8444efce7f38fcb88216808a89367340e3ae4cc710bc361d1bb0d144" {
		t.Errorf("the hash is now %s", hash)
	}
}

// Seen red with the panic let through and with the waiting without an end, for
// both, and with a wait of the whole time that a slow receiver has.
func TestToolThatBreaksOverARequest(t *testing.T) {
	t.Parallel()
	broken := errors.New("no such account")
	for name, row := range map[string]struct {
		do   func(letGo chan struct{}) error
		want string
		is   error
	}{
		"an error":    {func(chan struct{}) error { return broken }, "no such account", broken},
		"a panic":     {func(chan struct{}) error { panic("a bug") }, "the tool panicked: a bug", nil},
		"no return":   {func(letGo chan struct{}) error { <-letGo; return nil }, "does not return", host.ErrHanging},
		"all is well": {func(chan struct{}) error { return nil }, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := 10 * time.Second
			if errors.Is(row.is, host.ErrHanging) {
				timeout = time.Hour
			}
			synctest.Test(t, func(t *testing.T) {
				letGo := make(chan struct{})
				defer close(letGo)
				contract := shape(host.Once, 1)
				contract.Timeout = timeout
				tool := shower{
					fakeTool: &fakeTool{contract: contract},
					show:     func() ([]byte, error) { return nil, row.do(letGo) },
					check:    func() error { return row.do(letGo) },
				}
				start := time.Now()
				_, _, showErr := host.Show(tool, &host.Call{Tool: "pay"})
				for what, err := range map[string]error{"show": showErr, "check": host.Check(tool, &host.Call{Tool: "pay"})} {
					if (err == nil) != (row.want == "") || (err != nil && !strings.Contains(err.Error(), row.want)) || (row.is != nil && !errors.Is(err, row.is)) {
						t.Errorf("%s: %v", what, err)
					}
				}
				if d := time.Since(start); d > 2*min(timeout, host.DefaultTimeout) {
					t.Errorf("took %s", d)
				}
			})
		})
	}
	if err := host.Check(&fakeTool{}, &host.Call{}); err != nil {
		t.Errorf("a tool that checks nothing: %v", err)
	}
}
