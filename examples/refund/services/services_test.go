package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

const asProcess = "PAWL_TEST_SERVICES"

func TestMain(m *testing.M) {
	if os.Getenv(asProcess) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// services are those under test, running in this process or another.
type services struct {
	addr   string
	dir    string
	client *http.Client
	says   chan string
	stop   func()
}

// setup runs the services until the test ends.
func setup(t *testing.T, args ...string) *services {
	t.Helper()
	return setupIn(t, t.TempDir(), args...)
}

func setupIn(t *testing.T, dir string, args ...string) *services {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, append([]string{"--listen", "127.0.0.1:0", "--ledger", dir}, args...), nil, w)
		_ = w.Close()
	}()
	s := listening(t, dir, r)
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("services: %v", err)
		}
		for range s.says {
		}
		s.client.CloseIdleConnections()
	})
	t.Cleanup(s.stop)
	return s
}

func listening(t *testing.T, dir string, out io.Reader) *services {
	t.Helper()
	s := &services{dir: dir, says: make(chan string, 100), client: &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, // net/http sends a GET again when a reused connection breaks
	}}}
	go func() {
		defer close(s.says)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.says <- lines.Text()
		}
	}()
	first := <-s.says
	addr, ok := strings.CutPrefix(first, "listening ")
	if !ok {
		t.Fatalf("first line %q", first)
	}
	s.addr = addr
	return s
}

// got is an answer; status 0 means that none came.
type got struct {
	status int
	body   string
}

func (s *services) send(ctx context.Context, method, path, key, body string) got {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+s.addr+path, struct{ io.Reader }{strings.NewReader(body)})
	if err != nil {
		return got{body: err.Error()}
	}
	r.ContentLength = int64(len(body))
	if body == "" {
		r.Body = nil
	}
	if key != "" {
		r.Header["idempotency-key"] = []string{key} // so written that net/http does not send it twice
	}
	res, err := s.client.Do(r)
	if err != nil {
		return got{}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return got{}
	}
	return got{res.StatusCode, strings.TrimSpace(string(text))}
}

func (s *services) do(t *testing.T, method, path, key, body string) got {
	t.Helper()
	return s.send(t.Context(), method, path, key, body)
}

func (s *services) fault(t *testing.T, f string) {
	t.Helper()
	if g := s.do(t, "POST", "/_control", "", f); g.status != http.StatusNoContent {
		t.Fatalf("control %s: %+v", f, g)
	}
}

// count counts the lines of a tool on disk.
func (s *services) count(t *testing.T, kind, tool string) int {
	t.Helper()
	service, _, _ := strings.Cut(tool, ".")
	text, err := os.ReadFile(filepath.Join(s.dir, service+".jsonl"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // being written
		}
		var l Line
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if l.Kind == kind && l.Tool == tool {
			n++
		}
	}
	return n
}

const (
	pay1  = `{"order":"W1001","amount_cent":1490,"currency":"EUR"}`
	glass = `{"order":"W1003","amount_cent":890,"currency":"EUR"}`
	mail1 = `{"to":"ana.prado@customer.example","subject":"s","text":"t","message_id":"K1"}`
)

func TestWhatTheServicesDo(t *testing.T) {
	t.Parallel()
	type call struct {
		method, path, key, body string
		want                    got
	}
	tests := []struct {
		name    string
		calls   []call
		tool    string
		effects int
	}{
		{"a claim may be repeated", []call{
			{"PUT", "/tickets/T1/claim", "a", `{"by":"refunds"}`, got{200, `{"claimed_by":"refunds","ticket":"T1"}`}},
			{"PUT", "/tickets/T1/claim", "b", `{ "by": "refunds" }`, got{200, `{"claimed_by":"refunds","ticket":"T1"}`}},
			{"PUT", "/tickets/T1/claim", "c", `{"by":"other"}`, got{422, `{"error":"claimed_by_another"}`}},
		}, "tickets.claim", 1},
		{"a note may be repeated, another text is another effect", []call{
			{"PUT", "/tickets/T1/note", "a", `{"text":"x"}`, got{200, `{"state":"noted","ticket":"T1"}`}},
			{"PUT", "/tickets/T1/note", "a", `{"text":"x"}`, got{200, `{"state":"noted","ticket":"T1"}`}},
			{"PUT", "/tickets/T1/note", "a", `{"text":"y"}`, got{200, `{"state":"noted","ticket":"T1"}`}},
		}, "tickets.note", 2},
		{"an order is read, its inner facts are not shown", []call{
			{"GET", "/orders/W1005", "", "", got{200, `{"currency":"EUR","customer":{"name":"Emil Haas","email":"emil.haas@customer.example"},"id":"W1005","items":[{"sku":"kettle-1","title":"Kettle","price_cent":4990}]}`}},
			{"GET", "/orders/W9999", "", "", got{404, `{"error":"unknown_order"}`}},
		}, "orders.get", 0},
		{"every request to hold is a hold, and can be asked for", []call{
			{"GET", "/orders/holds?key=a", "", "", got{200, `{"data":[]}`}},
			{"POST", "/orders/holds", "a", `{"order":"W1001"}`, got{201, `{"hold":"h_1","order":"W1001"}`}},
			{"GET", "/orders/holds?key=a", "", "", got{200, `{"data":[{"hold":"h_1","order":"W1001"}]}`}},
			{"POST", "/orders/holds", "a", `{"order":"W1001"}`, got{201, `{"hold":"h_2","order":"W1001"}`}},
			{"POST", "/orders/holds", "b", `{"order":"W9999"}`, got{404, `{"error":"unknown_order"}`}},
		}, "orders.hold", 2},
		{"a hold is released once", []call{
			{"DELETE", "/orders/holds/h_1", "", "", got{404, `{"error":"unknown_hold"}`}},
			{"POST", "/orders/holds", "a", `{"order":"W1001"}`, got{201, `{"hold":"h_1","order":"W1001"}`}},
			{"DELETE", "/orders/holds/h_1", "", "", got{200, `{"released":"h_1"}`}},
			{"DELETE", "/orders/holds/h_1", "", "", got{200, `{"released":"h_1"}`}},
		}, "orders.release", 1},
		{"a key pays once, and is remembered", []call{
			{"GET", "/pay/refunds?key=a", "", "", got{200, `{"data":[]}`}},
			{"POST", "/pay/refunds", "a", pay1, got{201, `{"amount_cent":1490,"currency":"EUR","id":"rf_1","order":"W1001"}`}},
			{"POST", "/pay/refunds", "a", pay1, got{201, `{"amount_cent":1490,"currency":"EUR","id":"rf_1","order":"W1001"}`}},
			{"POST", "/pay/refunds", "a", glass, got{422, `{"error":"key_reused"}`}},
			{"GET", "/pay/refunds?key=a", "", "", got{200, `{"data":[{"amount_cent":1490,"currency":"EUR","id":"rf_1","order":"W1001"}]}`}},
		}, "pay.refund", 1},
		{"two equal refunds with two keys are two, a third is more than was paid", []call{
			{"POST", "/pay/refunds", "a", glass, got{201, `{"amount_cent":890,"currency":"EUR","id":"rf_1","order":"W1003"}`}},
			{"POST", "/pay/refunds", "b", glass, got{201, `{"amount_cent":890,"currency":"EUR","id":"rf_2","order":"W1003"}`}},
			{"POST", "/pay/refunds", "c", glass, got{422, `{"error":"already_refunded"}`}},
		}, "pay.refund", 2},
		{"payments refuse", []call{
			{"POST", "/pay/refunds", "a", `{"order":"W1005","amount_cent":4990,"currency":"EUR"}`, got{422, `{"error":"already_refunded"}`}},
			{"POST", "/pay/refunds", "b", `{"order":"W9999","amount_cent":1,"currency":"EUR"}`, got{404, `{"error":"unknown_order"}`}},
			{"POST", "/pay/refunds", "c", `{"order":"W1001","amount_cent":0,"currency":"EUR"}`, got{422, `{"error":"bad_amount"}`}},
			{"POST", "/pay/refunds", "d", `{"order":"W1001","amount_cent":1.5,"currency":"EUR"}`, got{422, `{"error":"bad_amount"}`}},
			{"POST", "/pay/refunds", "e", `{"order":"W1001","amount_cent":1,"currency":"USD"}`, got{422, `{"error":"bad_currency"}`}},
		}, "pay.refund", 0},
		{"mail is sent as often as it comes, and can be asked for", []call{
			{"POST", "/mail/send", "", mail1, got{202, `{"id":"m_1","state":"sent"}`}},
			{"POST", "/mail/send", "", mail1, got{202, `{"id":"m_2","state":"sent"}`}},
			{"GET", "/mail/sent?message_id=K1", "", "", got{200, `{"data":[{"id":"m_1","state":"sent"},{"id":"m_2","state":"sent"}]}`}},
			{"GET", "/mail/sent?message_id=K2", "", "", got{200, `{"data":[]}`}},
		}, "mail.send", 2},
		{"the model answers from its scripts and leaves nothing", []call{
			{"POST", "/llm/complete", "", `{"prompt":"it arrived broken"}`, got{200, `{"text":"We are sorry that it arrived broken. Thank you for telling us; we will pack more carefully.","tokens":212}`}},
			{"POST", "/llm/complete", "", `{"prompt":"hello"}`, got{200, `{"text":"Thank you for writing to us. We are sorry that your order was not as you expected.","tokens":187}`}},
			{"POST", "/llm/complete", "", `{}`, got{422, `{"error":"no_prompt"}`}},
		}, "llm.complete", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			requests := 0
			for i, c := range tt.calls {
				if g := s.do(t, c.method, c.path, c.key, c.body); g != c.want {
					t.Errorf("call %d: %+v, want %+v", i, g, c.want)
				}
				requests++
			}
			if n := s.count(t, kindEffect, tt.tool); n != tt.effects {
				t.Errorf("%d effects of %s, want %d", n, tt.tool, tt.effects)
			}
			var lines []Line
			if err := json.Unmarshal([]byte(s.do(t, "GET", "/_ledger", "", "").body), &lines); err != nil {
				t.Fatal(err)
			}
			for i, l := range lines {
				if l.N != i+1 {
					t.Errorf("line %d has number %d", i+1, l.N)
				}
				if l.Kind == kindRequest {
					requests--
				}
			}
			if requests != 0 {
				t.Errorf("%d requests have no line", requests)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	const paid = `{"amount_cent":1490,"currency":"EUR","id":"rf_1","order":"W1001"}`
	none := got{}
	tests := []struct {
		mode    string
		want    got // what the sender gets
		effects int // on disk when it is over
		says    string
	}{
		{"ok", got{201, paid}, 1, ""},
		{"lost", none, 0, ""},
		{"down", none, 0, ""},
		{"commit-hang", none, 1, ""},
		{"commit-500", got{500, `{"error":"out_of_order"}`}, 1, ""},
		{"500-no-commit", got{500, `{"error":"nothing_done"}`}, 0, ""},
		{"slow(1)", got{201, paid}, 1, ""},
		{"dup-ack", got{201, paid}, 1, ""},
		{"hold-before", none, 0, "held pay.refund before K"},
		{"hold-after", none, 1, "held pay.refund after K"},
		{"401", got{401, `{"error":"out_of_order"}`}, 0, ""},
		{"503", got{503, `{"error":"out_of_order"}`}, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.fault(t, `{"tool":"pay.refund","mode":"`+tt.mode+`"}`)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			answers := make(chan got, 1)
			go func() { answers <- s.send(ctx, "POST", "/pay/refunds", "K", pay1) }()
			switch {
			case tt.says != "":
				if said := <-s.says; said != tt.says {
					t.Errorf("said %q, want %q", said, tt.says)
				}
				// What was announced is true already.
				if n := s.count(t, kindEffect, "pay.refund"); n != tt.effects {
					t.Errorf("%d effects when it was announced, want %d", n, tt.effects)
				}
				cancel()
			case tt.mode == modeCommitHang:
				s.until(t, kindEffect, "pay.refund")
				cancel()
			}
			if g := <-answers; g != tt.want {
				t.Errorf("answer %+v, want %+v", g, tt.want)
			}
			// The fault was for one request.
			if g := s.do(t, "POST", "/pay/refunds", "K", pay1); g != (got{201, paid}) {
				t.Errorf("the next answer is %+v", g)
			}
			s.stop()
			if n := s.count(t, kindEffect, "pay.refund"); n != 1 {
				t.Errorf("%d effects at the end, want 1", n)
			}
		})
	}
}

// until waits for the first line of a tool.
func (s *services) until(t *testing.T, kind, tool string) {
	t.Helper()
	for s.count(t, kind, tool) == 0 {
		select {
		case <-t.Context().Done():
			t.Fatalf("no %s of %s", kind, tool)
		case <-time.After(time.Millisecond):
		}
	}
}

func TestReadsHaveFaultsToo(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for mode, want := range map[string]int{"lost": 0, "commit-500": 500, "503": 503, "slow(1)": 200} {
		s.fault(t, `{"tool":"pay.refund.verify","mode":"`+mode+`"}`)
		if g := s.do(t, "GET", "/pay/refunds?key=a", "", ""); g.status != want {
			t.Errorf("%s: %+v, want %d", mode, g, want)
		}
	}
	s.fault(t, `{"tool":"llm.complete","mode":"hold-after"}`)
	ctx, cancel := context.WithCancel(t.Context())
	answers := make(chan got, 1)
	go func() { answers <- s.send(ctx, "POST", "/llm/complete", "", `{"prompt":"x"}`) }()
	if said := <-s.says; said != "held llm.complete after -" {
		t.Errorf("said %q", said)
	}
	cancel()
	if g := <-answers; g.status != 0 {
		t.Errorf("answer %+v", g)
	}
}

func TestFaultsCountAndMatch(t *testing.T) {
	t.Parallel()
	s := setup(t)
	statuses := func(path string, n int) (all []int) {
		for range n {
			all = append(all, s.do(t, "GET", path, "", "").status)
		}
		return all
	}
	check := func(name string, got, want []int) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	s.fault(t, `{"tool":"orders.get","mode":"503","times":2}`)
	check("twice", statuses("/orders/W1001", 3), []int{503, 503, 200})
	s.fault(t, `{"tool":"orders.get","mode":"503","times":-1}`)
	s.fault(t, `{"tool":"orders.get","mode":"429","match":"W1002","times":1}`)
	check("for ever", statuses("/orders/W1001", 4), []int{503, 503, 503, 503})
	check("a match comes first", statuses("/orders/W1002", 2), []int{429, 503})
	s.fault(t, `{"tool":"orders.get","mode":"401","times":-1}`)
	check("a new one replaces", statuses("/orders/W1001", 2), []int{401, 401})
	s.fault(t, `{"tool":"orders.get","mode":"ok"}`)
	check("ok forgets", statuses("/orders/W1001", 2), []int{200, 200})

	s.fault(t, `{"tool":"orders.get","mode":"503","retry_after":7}`)
	res, err := s.client.Get("http://" + s.addr + "/orders/W1001")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if h := res.Header.Get("Retry-After"); h != "7" {
		t.Errorf("Retry-After %q", h)
	}
}

func TestMailAcknowledgesDuplicatesOnlyIfTold(t *testing.T) {
	t.Parallel()
	s := setup(t, "--fault", "mail.send=dup-ack:-1")
	for range 3 {
		if g := s.do(t, "POST", "/mail/send", "", mail1); g != (got{202, `{"id":"m_1","state":"sent"}`}) {
			t.Errorf("answer %+v", g)
		}
	}
	if n := s.count(t, kindEffect, "mail.send"); n != 1 {
		t.Errorf("%d mails", n)
	}
}

func TestAnOrderMayBringItsFault(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const pay7 = `{"order":"W1007","amount_cent":6480,"currency":"EUR"}`
	ctx, cancel := context.WithCancel(t.Context())
	answers := make(chan got, 1)
	go func() { answers <- s.send(ctx, "POST", "/pay/refunds", "K", pay7) }()
	s.until(t, kindEffect, "pay.refund")
	cancel()
	if g := <-answers; g.status != 0 {
		t.Errorf("answer %+v", g)
	}
	if g := s.do(t, "GET", "/pay/refunds?key=K", "", ""); !strings.Contains(g.body, "rf_1") {
		t.Errorf("asked afterwards: %+v", g)
	}
}

func TestRefusedFaults(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for body, want := range map[string]string{
		`{"tool":"pay","mode":"ok"}`:                        `no tool "pay"; there are tickets.claim, `,
		`{"tool":"pay.refund","mode":"hang"}`:               `no mode "hang"; there are ok, `,
		`{"tool":"pay.refund","mode":"slow"}`:               `no mode "slow"; `,
		`{"tool":"pay.refund","mode":"200"}`:                `no mode "200"; `,
		`{"tool":"pay.refund","mode":"ok","times":-2}`:      `times -2: -1 is for ever`,
		`{"tool":"pay.refund","mode":"ok","count":1}`:       `json: unknown field "count"`,
		`{"tool":"pay.refund","mode":"ok","match":"W1"`:     `unexpected EOF`,
		`{"tool":"pay.refund.verify","mode":"slow(-1)"}`:    `no mode "slow(-1)"; `,
		`{"tool":"mail.send","mode":"ok","retry_after":""}`: `json: cannot unmarshal`,
	} {
		if g := s.do(t, "POST", "/_control", "", body); g.status != 400 || !strings.HasPrefix(g.body, want) {
			t.Errorf("%s: %+v, want %s", body, g, want)
		}
	}
	for _, flag := range []string{"pay.refund", "pay.refund=", "=ok", "pay.refund@=ok", "pay.refund=ok:x"} {
		if _, err := parseFault(flag); err == nil {
			t.Errorf("%s was taken", flag)
		}
	}
	f, err := parseFault("pay.refund@W1007=slow(30):-1")
	if diff := cmp.Diff(Fault{Tool: "pay.refund", Match: "W1007", Mode: "slow(30)", Times: -1}, f, cmp.AllowUnexported(Fault{})); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// Seen red without route.single of the payments.
func TestAKeyInWorkIsRefused(t *testing.T) {
	t.Parallel()
	s := setup(t, "--fault", "pay.refund=slow(600000):-1")
	answers := make(chan got, 2)
	for range 2 {
		go func() { answers <- s.send(context.Background(), "POST", "/pay/refunds", "K", pay1) }()
	}
	select {
	case g := <-answers:
		if g != (got{409, `{"error":"key_in_work"}`}) {
			t.Errorf("the second got %+v", g)
		}
	case <-time.After(10 * time.Second):
		t.Error("both are in work")
	}
	s.stop()
	if g := <-answers; g.status != 0 {
		t.Errorf("the first got %+v", g)
	}
	if n := s.count(t, kindEffect, "pay.refund"); n != 0 {
		t.Errorf("%d refunds by a process that ended first", n)
	}
}

func TestAHeldRequestDoesNotKeepItsKey(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.fault(t, `{"tool":"pay.refund","mode":"hold-before"}`)
	held := make(chan got, 1)
	go func() { held <- s.send(context.Background(), "POST", "/pay/refunds", "K", pay1) }()
	<-s.says
	if g := s.do(t, "POST", "/pay/refunds", "K", pay1); g.status != 201 {
		t.Errorf("answer %+v", g)
	}
	s.stop()
	<-held
}

func TestASlowRequestIsDoneAfterItsSenderIsGone(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.fault(t, `{"tool":"mail.send","mode":"slow(100)"}`)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan got, 1)
	go func() { gone <- s.send(ctx, "POST", "/mail/send", "", mail1) }()
	s.until(t, kindRequest, "mail.send")
	cancel()
	<-gone
	s.until(t, kindEffect, "mail.send")
	var lines []Line
	if err := json.Unmarshal([]byte(s.do(t, "GET", "/_ledger", "", "").body), &lines); err != nil {
		t.Fatal(err)
	}
	if took := lines[1].At.Sub(lines[0].At); took < 100*time.Millisecond {
		t.Errorf("sent after %v", took)
	}
}

// Seen red with the lock of world.do removed.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.fault(t, `{"tool":"mail.send","mode":"commit-500","times":5}`)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			// One key, sent by all: paid once; in work or answered otherwise.
			if g := s.do(t, "POST", "/pay/refunds", "K", pay1); g.status != 201 && g.status != 409 {
				t.Errorf("pay %+v", g)
			}
			body := fmt.Sprintf(`{"to":"a@customer.example","text":"t","message_id":"M%d"}`, i)
			if g := s.do(t, "POST", "/mail/send", "", body); g.status != 202 && g.status != 500 {
				t.Errorf("mail %+v", g)
			}
			// Many keys, but only two glasses were paid for.
			if g := s.do(t, "POST", "/pay/refunds", fmt.Sprintf("G%d", i), glass); g.status != 201 && g.status != 422 {
				t.Errorf("pay %+v", g)
			}
			s.do(t, "GET", "/_ledger", "", "")
		})
	}
	wg.Wait()
	if n := s.count(t, kindEffect, "pay.refund"); n != 1+2 {
		t.Errorf("%d refunds, want 1 for the cup and 2 for the glasses", n)
	}
	if n := s.count(t, kindEffect, "mail.send"); n != 32 {
		t.Errorf("%d mails", n)
	}
}
