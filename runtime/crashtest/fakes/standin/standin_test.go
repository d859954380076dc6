package standin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/runtime/crashtest/fakes/standin"
)

// world is stand-ins that serve a test.
type world struct {
	t      *testing.T
	addr   string
	says   *bufio.Scanner
	client *http.Client
}

// setup serves one tool of each class.
func setup(t *testing.T) *world {
	t.Helper()
	nothing := standin.Reply{Status: 200, Body: json.RawMessage(`{"data":[]}`)}
	found := standin.Reply{Status: 200, Body: json.RawMessage(`{"data":["{answer}"]}`)}
	tool := func(writes, keyed bool) *standin.Tool {
		return &standin.Tool{
			Writes: writes, Keyed: keyed, Header: "Idempotency-Key", Path: "/orders/{order}?by={by}", Status: 201,
			Answer: json.RawMessage(`{"order":"{order}","amount":"{amount}","said":"{by} pays {amount}"}`), Found: found, Absent: nothing,
		}
	}
	plan := &standin.Plan{Tools: map[string]*standin.Tool{"get": tool(false, false), "pay": tool(true, true), "mail": tool(true, false)}}
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- standin.Serve(ctx, plan, standin.Options{Dir: filepath.Join(t.TempDir(), "ledger"), Say: in})
		_ = in.Close()
	}()
	w := &world{t: t, says: bufio.NewScanner(out), client: &http.Client{Transport: &http.Transport{}}}
	if !w.says.Scan() {
		t.Fatal("no address", <-ended)
	}
	w.addr = strings.TrimPrefix(w.says.Text(), "listening ")
	t.Cleanup(func() {
		w.client.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return w
}

// send makes a request; a status of 0 is no answer.
func (w *world) send(ctx context.Context, method, path, key, body string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+w.addr+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if key != "" {
		req.Header["idempotency-key"] = []string{key} // under this name net/http sends nothing twice by itself
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(text))
}

// pay sends to a tool and gives up when it hangs.
func (w *world) pay(tool, key string) int {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 300*time.Millisecond)
	defer cancel()
	status, _ := w.send(ctx, "POST", "/do/"+tool+"/orders/W1?by=ada", key, `{"amount":5}`)
	return status
}

func (w *world) fault(tool, mode string) {
	w.t.Helper()
	text, err := json.Marshal(map[string]string{"tool": tool, "mode": mode})
	if err != nil {
		w.t.Fatal(err)
	}
	if status, said := w.send(w.t.Context(), "POST", "/_control", "", string(text)); status != http.StatusNoContent {
		w.t.Fatal(status, said)
	}
}

// count counts lines of the ledger.
func (w *world) count(kind, tool string) (n int) {
	w.t.Helper()
	_, text := w.send(w.t.Context(), "GET", "/_ledger", "", "")
	var lines []standin.Line
	if err := json.Unmarshal([]byte(text), &lines); err != nil {
		w.t.Fatal(err)
	}
	for _, l := range lines {
		if l.Kind == kind && l.Tool == tool {
			n++
		}
	}
	return n
}

// Seen red with a keyed tool that applies every request, and with a read that
// has an effect.
func TestAReceiverDoesWhatItsClassPromises(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for tool, effects := range map[string]int{"get": 0, "pay": 1, "mail": 2} {
		for range 2 {
			if status := w.pay(tool, "K"); status != 201 {
				t.Fatalf("%s: status %d", tool, status)
			}
		}
		if got := w.count("effect", tool); got != effects {
			t.Errorf("%s: %d effects of one key sent twice, want %d", tool, got, effects)
		}
		if got := w.count("request", tool); got != 2 {
			t.Errorf("%s: %d requests", tool, got)
		}
	}
}

func TestAnAnswerHasTheFieldsOfItsRequest(t *testing.T) {
	t.Parallel()
	w := setup(t)
	_, got := w.send(t.Context(), "POST", "/do/pay/orders/W%201?by=ada", "K", `{"amount":5}`)
	if want := `{"amount":5,"order":"W 1","said":"ada pays 5"}`; got != want {
		t.Errorf("answered %s, want %s", got, want)
	}
	_, again := w.send(t.Context(), "POST", "/do/pay/orders/W2?by=bob", "K", `{"amount":7}`)
	if again != got {
		t.Errorf("the key again was answered %s, not as before", again)
	}
	if _, asked := w.send(t.Context(), "GET", "/ask/pay/orders?pawl_key=K", "", ""); asked != `{"data":[`+got+`]}` {
		t.Errorf("asked, it said %s", asked)
	}
	if _, asked := w.send(t.Context(), "GET", "/ask/pay/orders?pawl_key=L", "", ""); asked != `{"data":[]}` {
		t.Errorf("asked for what was not, it said %s", asked)
	}
}

// Seen red with commit-500 that does nothing, and hold-before that goes on when
// its sender is gone.
func TestModesDoWhatTheySay(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]struct{ status, effects int }{
		"ok": {201, 1}, "lost": {0, 0}, "commit-hang": {0, 1}, "commit-500": {500, 1}, "500-no-commit": {500, 0},
		"slow(1)": {201, 1}, "dup-ack": {201, 1}, "hold-before": {0, 0}, "hold-after": {0, 1},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.fault("mail", mode)
			if status := w.pay("mail", "K"); status != want.status {
				t.Errorf("status %d, want %d", status, want.status)
			}
			if when, held := strings.CutPrefix(mode, "hold-"); held {
				if !w.says.Scan() || w.says.Text() != "held mail "+when+" K" {
					t.Errorf("announced %q", w.says.Text())
				}
			}
			if got := w.count("effect", "mail"); got != want.effects {
				t.Errorf("%d effects, want %d", got, want.effects)
			}
			if status := w.pay("mail", "L"); status != 201 {
				t.Errorf("the next one: status %d: a fault is for one request", status)
			}
		})
	}
	w := setup(t)
	w.pay("mail", "K")
	w.fault("mail", "dup-ack")
	w.pay("mail", "K")
	if got := w.count("effect", "mail"); got != 1 {
		t.Errorf("dup-ack: %d effects of one key, want 1", got)
	}
}
