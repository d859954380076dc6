package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/host/httptool"
	"github.com/pawl-dev/pawl/host/toolfile"
	"github.com/pawl-dev/pawl/steps"
)

// These tests run the steps natively, but for the rest for real: tools.toml,
// the effect protocol and the services in a process of their own.

var binary = struct {
	sync.Once
	dir, file string
	err       error
}{}

func TestMain(m *testing.M) {
	code := m.Run()
	if binary.dir != "" {
		_ = os.RemoveAll(binary.dir)
	}
	os.Exit(code)
}

// startServices starts them for one test and returns their address.
func startServices(t *testing.T, ledger string) string {
	t.Helper()
	binary.Do(func() {
		if binary.dir, binary.err = os.MkdirTemp("", "refund-services-"); binary.err != nil {
			return
		}
		binary.file = filepath.Join(binary.dir, "services")
		out, err := exec.Command("go", "build", "-o", binary.file, "./services").CombinedOutput()
		if err != nil {
			binary.err = errors.New(string(out))
		}
	})
	if binary.err != nil {
		t.Fatal(binary.err)
	}
	cmd := exec.Command(binary.file, "--listen", "127.0.0.1:0", "--ledger", ledger, "--until-eof")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("services: %v", err)
		}
	})
	first, err := bufio.NewReader(stdout).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(first), "listening ")
	if err != nil || !ok {
		t.Fatalf("services: %q, %v", first, err)
	}
	return addr
}

// memory is a ledger of the protocol that keeps nothing.
type memory struct{}

func (memory) Intend(context.Context, host.Intent) (host.Barrier, error) { return memory{}, nil }
func (memory) Retry(context.Context, host.Retry) (host.Barrier, error)   { return memory{}, nil }
func (memory) Asked(context.Context, host.Answer, host.Verdict)          {}
func (memory) Settle(context.Context, host.Receipt) error                { return nil }
func (memory) Wait(context.Context) error                                { return nil }

// realTools are the tools of tools.toml with the services at addr.
func realTools(t *testing.T, addr, run string) steps.Tools {
	t.Helper()
	text, err := os.ReadFile("tools.toml")
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("127.0.0.1:7730"), []byte(addr))
	registry, err := toolfile.Parse("tools.toml", text, map[string]toolfile.Kind{"http": httptool.Kind})
	if err != nil {
		t.Fatal(err)
	}
	tools := steps.Tools{}
	seen := map[host.Hash]uint32{}
	for _, id := range registry.IDs() {
		tool, _ := registry.Tool(id)
		tools[id] = func(req json.RawMessage) (any, error) {
			hash, err := host.RequestHash(id, abi.TypeJSON, "", false, req)
			if err != nil {
				return nil, err
			}
			c := &host.Call{Tool: id, Type: abi.TypeJSON, Body: req, Hash: hash, Key: host.NewKey(host.KeyInput{
				Store: "test", Root: run, Tool: id, Request: hash, Occurrence: seen[hash],
			})}
			seen[hash]++
			r, err := host.Do(t.Context(), tool, memory{}, c, host.Past{})
			if err != nil {
				return nil, err
			}
			if r.Status != abi.OK {
				return nil, &steps.CallError{
					Status: r.Status, Code: r.Code, Message: r.Message,
					Response: steps.Response{Status: r.Response.Status, JSON: r.Response.Type == abi.TypeJSON, Body: r.Response.Body},
				}
			}
			return json.RawMessage(r.Response.Body), nil
		}
	}
	return tools
}

// refund runs all steps as workflow.toml connects them.
func refund(ticket []byte, tools steps.Tools) (json.RawMessage, error) {
	input := json.RawMessage(ticket)
	if _, err := steps.Test("validate", input, tools); err != nil {
		return nil, err
	}
	found, err := steps.Test("lookup", map[string]any{"ticket": input}, tools)
	if err != nil {
		return nil, err
	}
	letter, err := steps.Test("draft", map[string]any{"ticket": input, "case": found}, tools)
	if err != nil {
		return nil, err
	}
	return steps.Test("send", letter, tools)
}

// line is a line of the services' ledgers.
type line struct {
	Kind, Tool, Method, Key string
	Body                    json.RawMessage
}

func ledgers(t *testing.T, dir string) (all []line) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for one := range bytes.Lines(text) {
			all = append(all, decode[line](t, one))
		}
	}
	return all
}

func TestEveryTicketAgainstTheServices(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, ticket string
		code         string  // of the failure; "" for a completed run
		paid         []Cents // one by one
		to           string  // who gets the mail
		effects      map[string]int
	}{
		{"a small refund", "t1", "", []Cents{1490}, "ana.prado@customer.example", all(1)},
		{"a large refund", "t2", "", []Cents{38900}, "ben.okafor@customer.example", all(1)},
		{"two equal items, two equal refunds", "t3", "", []Cents{890, 890}, "chie.mori@customer.example", all(2)},
		{"a wrong status", "t4", "wrong_status", nil, "", map[string]int{}},
		{"already refunded", "t5", "refund_refused", nil, "", map[string]int{"tickets.claim": 1, "orders.hold": 1, "tickets.note": 1}},
		{"an unknown order", "t6", "unknown_order", nil, "", map[string]int{"tickets.claim": 1}},
		{"a payment that is made and not answered", "t7", "", []Cents{6480}, "goran.petri@customer.example", all(1)},
		{"a text that gives orders", "t8", "", []Cents{2975}, "hana.novak@customer.example", all(1)},
		{"two of three items", "t9", "", []Cents{1120, 790}, "farah.aziz@customer.example", all(2)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tools := realTools(t, startServices(t, dir), tt.ticket)
			text, err := os.ReadFile(filepath.Join("tickets", tt.ticket+".json"))
			if err != nil {
				t.Fatal(err)
			}
			out, err := refund(text, tools)
			if tt.code != "" {
				failsWith(t, err, tt.code)
			} else if err != nil {
				t.Fatal(err)
			} else {
				checkResult(t, decode[Result](t, out), tt.paid)
			}
			checkLedgers(t, ledgers(t, dir), tt.paid, tt.to, tt.effects)
		})
	}
}

// all are the effects of a completed run with so many refunds.
func all(refunds int) map[string]int {
	return map[string]int{"tickets.claim": 1, "orders.hold": 1, "tickets.note": 1, "pay.refund": refunds, "mail.send": 1}
}

func checkResult(t *testing.T, r Result, paid []Cents) {
	t.Helper()
	var sum Cents
	for _, amount := range paid {
		sum += amount
	}
	if r.Refunded != sum || len(r.Refunds) != len(paid) || r.Mail != "m_1" {
		t.Errorf("result %+v, want %d cents in %d refunds", r, sum, len(paid))
	}
}

func checkLedgers(t *testing.T, lines []line, paid []Cents, to string, want map[string]int) {
	t.Helper()
	effects, keys := map[string]int{}, map[string]bool{}
	var amounts []Cents
	for _, l := range lines {
		if l.Kind != "effect" {
			continue
		}
		effects[l.Tool]++
		if l.Key == "" || keys[l.Key] {
			t.Errorf("%s with the key %q that is missing or not its own", l.Tool, l.Key)
		}
		keys[l.Key] = true
		if bytes.Contains(l.Body, []byte("99999")) || bytes.Contains(l.Body, []byte("mallory")) {
			t.Errorf("the ticket's text reached %s: %s", l.Tool, l.Body)
		}
		switch l.Tool {
		case "pay.refund":
			amounts = append(amounts, decode[Refund](t, l.Body).Amount)
		case "mail.send":
			if got := decode[Mail](t, l.Body).To; got != to {
				t.Errorf("mail to %s, want %s", got, to)
			}
		}
	}
	if diff := cmp.Diff(want, effects); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(paid, amounts); diff != "" {
		t.Errorf("refunds (-want +got):\n%s", diff)
	}
}

func TestAPaymentThatIsNotAnsweredIsAskedForAndNotSentAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tools := realTools(t, startServices(t, dir), "t7")
	text, err := os.ReadFile(filepath.Join("tickets", "t7.json"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := refund(text, tools); err != nil {
		t.Fatal(err)
	}
	var got []string
	posts := 0
	for _, l := range ledgers(t, dir) {
		if strings.HasPrefix(l.Tool, "pay.") {
			got = append(got, l.Kind+" "+l.Method)
		}
		if l.Tool == "pay.refund" && l.Kind == "request" {
			posts++
		}
	}
	if posts != 1 {
		t.Errorf("%d payments were sent", posts)
	}
	got = slices.Compact(got) // a question may be asked again, a payment may not
	if diff := cmp.Diff([]string{"request POST", "effect POST", "request GET"}, got); diff != "" {
		t.Errorf("lines of the payments (-want +got):\n%s", diff)
	}
}
