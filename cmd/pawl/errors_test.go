package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/tomlfile"
	"github.com/pawl-dev/pawl/host/toolfile"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/steps/build"
)

func TestEveryErrorHasACodeAStatusAndAHint(t *testing.T) {
	t.Parallel()
	step := func(err error) error {
		return &pawl.StepError{Run: "r", Step: "send", Attempt: 1, Err: err, Hint: "do this"}
	}
	for name, row := range map[string]struct {
		err    error
		code   string
		status int
		says   string
	}{
		"locked":                     {&kv.LockedError{Dir: "d", PID: 42}, "store_locked", 5, "process 42"},
		"broken":                     {fmt.Errorf("run: %w", kv.ErrStoreBroken), "store_broken", 5, "broken"},
		"no space":                   {fmt.Errorf("%w: %w", pawl.ErrUnavailable, kv.ErrNoSpace), "no_space", 5, "free space"},
		"unavailable":                {fmt.Errorf("x: %w", pawl.ErrUnavailable), "store_unavailable", 5, "unavailable"},
		"held":                       {&pawl.HeldError{Reason: "it is a copy"}, "held", 3, "it is a copy"},
		"fenced":                     {fmt.Errorf("x: %w", pawl.ErrFenced), "fenced", 4, "fenced"},
		"too large":                  {pawl.ErrTooLarge, "too_large", 2, "too large"},
		"corrupt":                    {&kv.CorruptError{Key: []byte("r/1"), Reason: "checksum"}, "corrupt", 5, "r/1"},
		"broken by what is corrupt":  {fmt.Errorf("%w: %w", kv.ErrStoreBroken, &kv.CorruptError{Key: []byte("r/1"), Reason: "checksum"}), "corrupt", 5, "r/1"},
		"damaged":                    {&kv.DamageError{File: "d/1.sst", Reason: "short"}, "corrupt", 5, "d/1.sst is damaged"},
		"undecodable":                {fmt.Errorf("x: %w", pawl.ErrUndecodable), "undecodable", 5, "undecodable"},
		"incompatible":               {&pawl.IncompatibleError{Run: "r", Differences: []pawl.Difference{{Pin: "arch", What: "amd64"}, {Pin: "tool a", What: "missing"}}}, "incompatible", 4, "r\n  arch: amd64\n  tool a: missing"},
		"conflict":                   {pawl.ErrInputConflict, "input_conflict", 4, "another input"},
		"stale":                      {fmt.Errorf("%w: run r", pawl.ErrStale), "stale", 4, "changed meanwhile"},
		"already running":            {pawl.ErrAlreadyRunning, "already_running", 4, "already running"},
		"input":                      {&pawl.InputError{Workflow: "w", Err: errors.New("/order: got number")}, "invalid_input", 2, "/order"},
		"not found":                  {pawl.ErrNotFound, "not_found", 2, "not found"},
		"budget":                     {step(&pawl.BudgetError{Budget: "calls", Limit: "5", Used: "5"}), "budget_spent", 1, "calls 5 of 5"},
		"deterministic":              {step(pawl.ErrDeterministic), "deterministic", 1, "send"},
		"needs a decision":           {step(pawl.ErrNeedsDecision), "needs_decision", 3, "send"},
		"unknown outcome":            {&host.UndecidedError{Tool: "pay", Reason: "no answer"}, "outcome_unknown", 3, "no answer"},
		"failed":                     {step(pawl.ErrFailed), "failed", 1, "send"},
		"some step":                  {step(errors.New("odd")), "step_failed", 1, "odd"},
		"a file":                     {tomlfile.Errors{{File: "workflow.toml", Line: 3, Column: 1, Message: "no"}}, "invalid_file", 2, "workflow.toml:3:1: no"},
		"one mistake in a file":      {&tomlfile.Error{File: "tools.toml", Message: "no"}, "invalid_file", 2, "tools.toml: no"},
		"a tool":                     {&host.ContractError{Tool: "t", Field: "effect", Reason: "no"}, "invalid_tool", 2, "effect"},
		"no tools file":              {toolfile.ErrNoFile, "no_tools", 2, "no tools.toml"},
		"no go":                      {build.ErrNoGo, "no_go", 2, "no go command"},
		"sources that do not build":  {&build.CompileError{Dir: "d", Package: ".", Output: "x.go:1:1: no", Err: errors.New("exit status 1")}, "build_failed", 2, "x.go:1:1"},
		"something that is not Wasm": {build.ErrNotWasm, "invalid_module", 2, "WebAssembly"},
		"a signal":                   {fmt.Errorf("build: %w", context.Canceled), "interrupted", 130, "canceled"},
		"a closed engine":            {pawl.ErrClosed, "interrupted", 130, "closed"},
		"a missing file":             {&fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}, "no_such_file", 2, "open x"},
		"a file of somebody else":    {&fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}, "permission", 2, "open x"},
		"a bug":                      {errors.New("odd"), "internal", 1, "odd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if status := report(&Globals{stderr: &out, JSON: true}, row.err); status != row.status {
				t.Errorf("exit status %d, want %d", status, row.status)
			}
			var said struct{ Error problem }
			if err := json.Unmarshal(out.Bytes(), &said); err != nil {
				t.Fatal(err)
			}
			if said.Error.Code != row.code || said.Error.Hint == "" || !strings.Contains(said.Error.Message, row.says) {
				t.Errorf("told: %s", &out)
			}
			out.Reset()
			report(&Globals{stderr: &out}, row.err)
			if !strings.HasPrefix(out.String(), "pawl: ") || !strings.Contains(out.String(), row.says) || !strings.Contains(out.String(), "\n  "+said.Error.Hint) {
				t.Errorf("told: %s", &out)
			}
		})
	}
}

// Seen red with one hint for all that is corrupt, and with the broken store
// before its cause.
func TestTheHintSaysWhatIsDamaged(t *testing.T) {
	t.Parallel()
	key := &kv.CorruptError{Key: []byte("r/1"), Reason: "checksum"}
	for name, row := range map[string]struct {
		err  error
		says string
	}{
		"a file":                      {&kv.DamageError{File: "d/1.sst", Reason: "short"}, "the whole data directory"},
		"a key":                       {key, "damaged at that key"},
		"a key, found by a commit":    {fmt.Errorf("%w: %w", kv.ErrStoreBroken, key), "damaged at that key"},
		"nothing, but a write failed": {kv.ErrStoreBroken, "a write failed"},
	} {
		if hint := problemOf(row.err).Hint; !strings.Contains(hint, row.says) {
			t.Errorf("%s: hint %q", name, hint)
		}
	}
}

func TestWhoIsToBlameForABuild(t *testing.T) {
	t.Parallel()
	for printed, want := range map[string]string{
		"# x\n./s.go:4:2: undefined: build cache":                                                       "mend the Go sources",
		"go: finding module\nsteps.go:1:22: cannot find module":                                         "mend the Go sources",
		"go: go.mod requires go >= 9.9 (running go 1.26)":                                               "mend what go says",
		"found packages main (a.go) and other (b.go) in /x":                                             "mend what go says",
		"go: go.mod file not found in current directory or any parent directory; see 'go help modules'": "go mod init",
		"go: cannot find main module, but found .git/config in /x":                                      "go mod init",
		"s.go:3:8: no required module provides package github.com/pawl-dev/pawl/steps; to add it:":      "README.md",
		"s.go:3:8: no required module provides package example.com/other; to add it:":                   "mend the Go sources",
		"go: creating work dir: stat /nope: no such file":                                               "mend what go says",
		"build cache is required, but could not be located: x":                                          "set HOME, or GOCACHE and GOMODCACHE",
		"failed to initialize build cache at /x: mkdir /x: denied":                                      "set HOME, or GOCACHE and GOMODCACHE",
		"go: module cache not found: neither GOMODCACHE nor GOPATH is set":                              "set HOME, or GOCACHE and GOMODCACHE",
	} {
		p := problemOf(fmt.Errorf("x: %w", &build.CompileError{Dir: "d", Package: ".", Output: printed, Err: errors.New("exit status 1")}))
		if !strings.Contains(p.Hint, want) || !strings.Contains(p.Message, printed) || p.Status != statusUsage {
			t.Errorf("%q: %+v", printed, p)
		}
	}
}

func TestTheHintOfAStepIsTheOneTold(t *testing.T) {
	t.Parallel()
	err := &pawl.StepError{Run: "r", Step: "send", Err: pawl.ErrBudgetSpent, Hint: "ask ana"}
	if p := problemOf(err); p.Hint != "ask ana" {
		t.Errorf("hint %q", p.Hint)
	}
}

// What a step, a receiver or a file says must not move the cursor, change
// colours, or set the title of the window it is shown in.
// Seen red for each of the four with its text as it came.
func TestWhatIsToldDrivesNoTerminal(t *testing.T) {
	t.Parallel()
	const nasty = "a\x1b[31m\x1b]0;title\x07b\r\u009b2Jc\x7f\nd"
	const tame = "a\uFFFD[31m\uFFFD]0;title\uFFFDb\uFFFD\uFFFD2Jc\uFFFD\n"
	for name, tell := range map[string]func(g *Globals){
		"message": func(g *Globals) {
			report(g, &pawl.StepError{Run: "r", Step: "send", Err: fmt.Errorf("%w: %s", pawl.ErrDeterministic, nasty)})
		},
		"hint":   func(g *Globals) { report(g, &pawl.StepError{Err: pawl.ErrFailed, Hint: nasty}) },
		"notice": func(g *Globals) { g.notice("x", "%s", nasty) },
		"ending": func(g *Globals) {
			c := &pawl.Checkpoint{State: pawl.StateFailed, Reasons: []pawl.Reason{{Sentence: "s", Help: nasty}}}
			fmt.Fprint(g.stderr, ending(c, false))
			c.Differences = []pawl.Difference{{Pin: "p", What: nasty}}
			p := &page{doc: c}
			p.why()
			_, _ = p.out.WriteTo(g.stderr)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			tell(&Globals{stderr: &out})
			if strings.ContainsAny(out.String(), "\x1b\x07\r\u009b\x7f") || !strings.Contains(out.String(), tame) {
				t.Errorf("%q", &out)
			}
		})
	}
}

func TestHowARunStandsIsTheExitStatus(t *testing.T) {
	t.Parallel()
	for state, want := range map[pawl.RunState]int{
		pawl.StateCompleted: 0, pawl.StateFailed: 1, pawl.StateWaiting: 3, pawl.StateNeedsDecision: 3,
		pawl.StateInterrupted: 3, pawl.StateIncompatible: 4,
	} {
		if got := statusOf(state); got != want {
			t.Errorf("%s: %d, want %d", state, got, want)
		}
	}
}

func TestColourOnlyForATerminalThatWantsIt(t *testing.T) {
	if (&Globals{}).paint(&bytes.Buffer{}) {
		t.Error("a buffer is coloured")
	}
	// A character device is what a terminal is too.
	device, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	if !(&Globals{}).paint(device) || !(&Globals{}).paint(&output{Writer: device}) {
		t.Error("a terminal is not coloured")
	}
	t.Setenv("NO_COLOR", "1")
	if (&Globals{}).paint(device) {
		t.Error("NO_COLOR is not obeyed")
	}
}

func TestArgumentsCanBePastedIntoAShell(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]string{"refund": "refund", "my data": "'my data'", "it's": `'it'\''s'`, "": "''"} {
		if got := quoted(arg); got != want {
			t.Errorf("%q: %s, want %s", arg, got, want)
		}
	}
}
