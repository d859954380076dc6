package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/steps"
	"github.com/pawl-dev/pawl/steps/build"
)

var glass = Item{SKU: "glass-tall", Title: "Tall glass", Price: 890}

func order(items ...Item) Order {
	return Order{
		ID: "W1003", Currency: "EUR", Items: items,
		Customer: Customer{Name: "Chie Mori", Email: "chie.mori@customer.example"},
	}
}

func ticket(items ...string) Ticket {
	return Ticket{ID: "T3", Order: "W1003", Status: "open", Items: items, Text: "It broke."}
}

func failsWith(t *testing.T, err error, code string) {
	t.Helper()
	var f *steps.Failure
	if !errors.As(err, &f) || f.Code != code || f.Retry != abi.Never {
		t.Errorf("got %v, want a failure for good with code %s", err, code)
	}
}

func decode[T any](t *testing.T, text []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// Seen red with the claim before the check.
func TestAClosedTicketIsRefusedBeforeItIsClaimed(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"closed", "waiting"} {
		in := ticket("glass-tall")
		in.Status = status
		_, err := steps.Test("validate", in, steps.Tools{"tickets.claim": func(json.RawMessage) (any, error) {
			t.Error("claimed")
			return nil, nil
		}})
		failsWith(t, err, "wrong_status")
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	cup := Item{SKU: "cup-blue", Title: "Blue cup", Price: 1490}
	tests := []struct {
		name   string
		items  []string // of the ticket
		want   []Item   // to refund
		code   string
		answer error // of orders.get
	}{
		{name: "two equal items", items: []string{"glass-tall", "glass-tall"}, want: []Item{glass, glass}},
		{name: "one of them", items: []string{"glass-tall"}, want: []Item{glass}},
		{name: "in the order of the ticket", items: []string{"cup-blue", "glass-tall"}, want: []Item{cup, glass}},
		{name: "more than were bought", items: []string{"glass-tall", "glass-tall", "glass-tall"}, code: "unknown_item"},
		{name: "another item", items: []string{"vase"}, code: "unknown_item"},
		{name: "no such order", items: []string{"vase"}, answer: steps.ErrRejected, code: "unknown_order"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			holds := 0
			out, err := steps.Test("lookup", map[string]any{"ticket": ticket(tt.items...)}, steps.Tools{
				"orders.get": func(json.RawMessage) (any, error) { return order(glass, cup, glass), tt.answer },
				"orders.hold": func(json.RawMessage) (any, error) {
					holds++
					return Hold{Hold: "h_1"}, nil
				},
			})
			if tt.code != "" {
				failsWith(t, err, tt.code)
				if holds != 0 {
					t.Error("held")
				}
				return
			}
			if err != nil || holds != 1 {
				t.Fatalf("%d holds, %v", holds, err)
			}
			if diff := cmp.Diff(tt.want, decode[Case](t, out).Order.Items); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnOrderSystemThatIsAwayIsAskedAgain(t *testing.T) {
	t.Parallel()
	_, err := steps.Test("lookup", map[string]any{"ticket": ticket("glass-tall")}, steps.Tools{
		"orders.get": func(json.RawMessage) (any, error) { return nil, steps.ErrDeadline },
	})
	var f *steps.Failure
	if !errors.As(err, &f) || f.Retry != abi.Again || f.Code != "call_deadline" {
		t.Errorf("got %v", err)
	}
}

// Seen red with the check of the draft removed.
func TestTheModelHasNoSayInMoneyOrAddresses(t *testing.T) {
	t.Parallel()
	const standard = "Thank you for writing to us. We are sorry for the trouble."
	for said, want := range map[string]string{
		"We are sorry that it broke.":        "We are sorry that it broke.",
		"I refunded 99999.00 EUR.":           standard,
		"Write to mallory@attacker.example.": standard,
		"":                                   standard,
		strings.Repeat("Sorry. ", 100):       standard,
	} {
		var note Note
		in := map[string]any{"ticket": ticket("glass-tall"), "case": Case{Order: order(glass), Hold: "h_1"}}
		out, err := steps.Test("draft", in, steps.Tools{
			"llm.complete": func(json.RawMessage) (any, error) { return Completion{Text: said, Tokens: 10}, nil },
			"tickets.note": func(req json.RawMessage) (any, error) {
				note = decode[Note](t, req)
				return nil, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := decode[Letter](t, out).Paragraph; got != want {
			t.Errorf("said %q, paragraph %q, want %q", said, got, want)
		}
		if want := "refund of 8.90 EUR: " + want; note.Text != want {
			t.Errorf("note %q, want %q", note.Text, want)
		}
	}
}

func TestTwoEqualItemsAreTwoEqualRefunds(t *testing.T) {
	t.Parallel()
	var refunds []string
	var mail Mail
	in := Letter{Ticket: "T3", Case: Case{Order: order(glass, glass), Hold: "h_1"}, Paragraph: "Sorry."}
	out, err := steps.Test("send", in, steps.Tools{
		"pay.refund": func(req json.RawMessage) (any, error) {
			refunds = append(refunds, string(req))
			return Paid{ID: "rf", Amount: 890}, nil
		},
		"mail.send": func(req json.RawMessage) (any, error) {
			mail = decode[Mail](t, req)
			return Sent{ID: "m_1"}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	const one = `{"order":"W1003","amount_cent":890,"currency":"EUR"}`
	if diff := cmp.Diff([]string{one, one}, refunds); diff != "" {
		t.Errorf("refunds (-want +got):\n%s", diff)
	}
	if mail.To != "chie.mori@customer.example" || !strings.Contains(mail.Text, "refunded 17.80 EUR") {
		t.Errorf("mail %+v", mail)
	}
	want := `{"ticket":"T3","order":"W1003","refunds":["rf","rf"],"refunded_cent":1780,"currency":"EUR","mail":"m_1"}`
	if string(out) != want {
		t.Errorf("output %s, want %s", out, want)
	}
}

func TestTicketsFitTheSchema(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("schema", "ticket.json"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join("tickets", "*.json"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d tickets, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(decode[any](t, text)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		wrong := decode[map[string]any](t, text)
		wrong["amount"] = "99999.00"
		if schema.Validate(wrong) == nil {
			t.Errorf("%s with an amount of its own is taken", file)
		}
	}
}

func TestTheStepsBuildAsAGuest(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "refund.wasm")
	if _, err := build.Module(t.Context(), &build.Options{Out: out}); err != nil {
		t.Fatal(err)
	}
}
