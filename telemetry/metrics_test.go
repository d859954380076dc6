package telemetry_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	prom "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/telemetry"
)

// scraped is what a scrape found: each series with its labels, as the text
// format writes them, and its value.
type scraped map[string]float64

// meters is a meter provider that a server could scrape.
func meters(t testing.TB) (*sdkmetric.MeterProvider, func() scraped) {
	t.Helper()
	registry := prom.NewRegistry()
	exporter, err := prometheus.New(prometheus.WithRegisterer(registry), prometheus.WithoutScopeInfo(), prometheus.WithoutTargetInfo())
	if err != nil {
		t.Fatal(err)
	}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return provider, func() scraped {
		t.Helper()
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		text, err := io.ReadAll(w.Body)
		if err != nil || w.Code != http.StatusOK {
			t.Fatalf("%d, %v: %s", w.Code, err, text)
		}
		all := scraped{}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			at := strings.LastIndexByte(line, ' ')
			if strings.HasPrefix(line, "#") || at < 0 {
				continue
			}
			if all[line[:at]], err = strconv.ParseFloat(line[at+1:], 64); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
		}
		return all
	}
}

// What a scrape says of calls is what their receiver knows, and what it says of
// runs is what was done with them.
//
// Seen red with answers counted instead of receipts, for the tools of the store.
func TestScrapeTellsWhatTheReceiverKnows(t *testing.T) {
	t.Parallel()
	provider, scrape := meters(t)
	tel, err := telemetry.New(&telemetry.Options{Meter: provider})
	if err != nil {
		t.Fatal(err)
	}
	var r receiver
	tools, err := r.tools()
	if err != nil {
		t.Fatal(err)
	}
	engine := openEngine(t, t.TempDir(), pawl.Options{Tools: tools, Observer: tel.Observe})
	stop, err := tel.Watch(engine)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	w := deploy(t, engine)
	for i := range 3 {
		c := rest(t, w, fmt.Sprint("well-", i), `{"one":[{"call":"keyed"},{"call":"keyed"},{"call":"kv.put","request":{"key":"a","value":1}}],"two":[{"call":"flaky","ignore":true}]}`)
		if c.State != pawl.StateCompleted {
			t.Fatalf("%+v", c.Reasons)
		}
	}
	rest(t, w, "own-code", `{"one":[{"fail":"sold_out"}],"two":[]}`)
	rest(t, w, "trap", `{"one":[{"call":"keyed"}],"two":[{"eat":true}]}`)
	rest(t, w, "stranger", `{"one":[{"call":"once","ignore":true}],"two":[]}`)
	got := scrape()
	want := scraped{
		`pawl_calls_total{outcome="applied",tool="kv.put"}`:      3,
		`pawl_calls_total{outcome="refused",tool="(ungranted)"}`: 1,
		`pawl_attempts_failed_total{code="other"}`:               1,
		`pawl_runs{reason="",state="completed"}`:                 4,
		`pawl_runs{reason="other",state="failed"}`:               1,
		`pawl_steps_completed_total`:                             3*2 + 1 + 2,
		`pawl_store_condition{condition="ok"}`:                   1,
		`pawl_store_condition{condition="broken"}`:               0,
		`pawl_call_duration_seconds_count{tool="books"}`:         float64(r.said["books applied"]),
		`pawl_call_sends_total{tool="books"}`:                    float64(r.sent["books"]),
		`pawl_call_sends_total{tool="shaky"}`:                    float64(r.sent["shaky"]),
		`pawl_calls_total{outcome="applied",tool="books"}`:       float64(r.said["books applied"]),
		`pawl_calls_total{outcome="applied",tool="shaky"}`:       float64(r.said["shaky applied"]),
		`pawl_calls_total{outcome="rejected",tool="shaky"}`:      float64(r.said["shaky rejected"]),
	}
	if r.said["books applied"] != 7 || r.said["shaky applied"] == 0 || r.said["shaky rejected"] == 0 {
		t.Errorf("the receiver said %v, which shows nothing", r.said)
	}
	for series, value := range want {
		if has, ok := got[series]; !ok || has != value {
			t.Errorf("%s is %v (%v), want %v", series, has, ok, value)
		}
	}
	h := engine.Health().Store
	if v := got["pawl_store_commits_total"]; v != float64(h.Commits) || v == 0 {
		t.Errorf("%v commits, and the store says %d", v, h.Commits)
	}
	if v := got["pawl_store_syncs_total"]; v != float64(h.Syncs) || v == 0 {
		t.Errorf("%v syncs, and the store says %d", v, h.Syncs)
	}
	if v, ok := got[`pawl_runs_oldest_wait_seconds{reason="other",state="failed"}`]; !ok || v < 0 || v > 3600 {
		t.Errorf("the failed run waits for %v s (%v)", v, ok)
	}
	if t.Failed() {
		for series, v := range got {
			t.Log(series, v)
		}
	}
}

// Whatever steps make up, there are as many series as tools, states and codes
// of the engine.
//
// Seen red with the codes of steps counted by name, and with the tools counted
// by what steps call them.
func TestSeriesAreBounded(t *testing.T) {
	t.Parallel()
	provider, scrape := meters(t)
	tel, err := telemetry.New(&telemetry.Options{Meter: provider})
	if err != nil {
		t.Fatal(err)
	}
	var counts counted
	for i := range 1000 {
		made := fmt.Sprint("made_up_", i)
		run := fmt.Sprintf("01HZZZZZZZZZZZZZZZZZZZ%04d", i)
		for _, kind := range []pawl.EventKind{pawl.Sent, pawl.ReceiptDurable, pawl.Refused, pawl.AttemptFailed, pawl.Parked, pawl.StepCompleted} {
			tel.Observe(pawl.Event{Kind: kind, Run: run, Step: "one", Attempt: i, Call: i, Tool: made, Code: made})
			tel.Observe(pawl.Event{Kind: kind, Run: run, Step: "one", Tool: made, Use: "books", Code: fmt.Sprintf("http_%d", 400+i%200)})
		}
		counts = append(counts, pawl.Count{State: pawl.StateFailed, Reason: made, Runs: 1})
	}
	if _, err := tel.Watch(counts); err != nil {
		t.Fatal(err)
	}
	got := scrape()
	if n := len(got); n == 0 || n > 80 {
		t.Errorf("%d series", n)
	}
	for series, want := range map[string]float64{
		`pawl_runs{reason="other",state="failed"}`:               1000,
		`pawl_attempts_failed_total{code="other"}`:               1000,
		`pawl_attempts_failed_total{code="http_4xx"}`:            500,
		`pawl_attempts_failed_total{code="http_5xx"}`:            500,
		`pawl_calls_total{outcome="refused",tool="(ungranted)"}`: 1000,
		`pawl_calls_total{outcome="unknown",tool="books"}`:       1000,
	} {
		if got[series] != want {
			t.Errorf("%s is %v, want %v", series, got[series], want)
		}
	}
}

// counted is an engine with such counts of runs.
type counted []pawl.Count

func (counted) Health() pawl.Health                    { return pawl.Health{} }
func (c counted) List(*pawl.Query) (*pawl.Page, error) { return &pawl.Page{Counts: c}, nil }
