package web_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/web"
)

// A run is looked for only by what can name one, and whatever else stands in
// its place is not found: no other route, file or answer.
//
// Seen red with every reference looked for, the empty one among them.
func TestPathsOfRuns(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.inState(pawl.StateCompleted)
	h := web.Handler(f.engine, nil)
	for _, ref := range []string{
		"..", "%2e%2e", "..%2f..%2fhealth", "%2e%2e%2f%2e%2e%2fhealth", "..%5c..%5chealth", "completed%00", "%00", "completed%2f", "completed%2flogs",
		"%2fetc%2fpasswd", "completed%0d%0aX-Bad:%201", "%20completed", "completed%20", "*", "%2a", "%25", "%ff%fe", "%e2%80%aecompleted",
		"@first", "@last%00", "completed;state=failed", "completed%3fx", "completed%23x", "{run}", ":run", "<script>", "%3Cscript%3Ealert(1)%3C%2fscript%3E",
		strings.Repeat("a", 129), strings.Repeat("a", 100_000), strings.Repeat("%41", 300),
	} {
		for _, rest := range []string{"", "/logs", "/events"} {
			got := ask(h, http.MethodGet, "/api/v1/runs/"+strings.ReplaceAll(ref, "<script>", "%3Cscript%3E")+rest, nil)
			if got.Code != http.StatusNotFound || got.Header().Get("Content-Type") != "application/problem+json" || got.Header().Get("X-Bad") != "" {
				t.Errorf("%.60q%s: %d %s %.200s", ref, rest, got.Code, got.Header().Get("Content-Type"), got.Body)
			}
			if body := got.Body.String(); strings.ContainsAny(body, "<>\x00") || len(body) > 1000 {
				t.Errorf("%.60q%s: %.200s of %d bytes", ref, rest, body, len(body))
			}
		}
	}
	for _, target := range []string{"/api/v1/runs//", "/api/v1//runs", "/api/v1/runs/completed/", "//api/v1/runs", "/API/v1/runs", "/api/v1/runs/completed/logs/x"} {
		if got := ask(h, http.MethodGet, target, func(r *http.Request) { r.RequestURI = target }); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d %.200s", target, got.Code, got.Body)
		}
	}
}

// A header of a request never becomes one of its answer.
func TestKeyWithLinesInIt(t *testing.T) {
	t.Parallel()
	f := setup(t)
	h := web.Handler(f.engine, nil)
	for _, key := range []string{"a\r\nX-Bad: 1", "a\nX-Bad: 1", "\r\n\r\n<script>", "a\x00b", "a%0d%0aX-Bad:%201", `"a\r\nX-Bad: 1"`} {
		got := ask(h, http.MethodPost, "/api/v1/runs", func(r *http.Request) {
			r.Header["Idempotency-Key"] = []string{key} // as a server that lets it through would
			r.Header.Set("Content-Type", "application/json")
			r.Body = io.NopCloser(strings.NewReader(startBody("", order)))
		})
		if got.Code != http.StatusCreated || got.Header().Get("X-Bad") != "" || strings.Contains(fmt.Sprint(got.Header()), "Bad") {
			t.Errorf("%q: %d %v", key, got.Code, got.Header())
		}
		if !strings.Contains(got.Body.String(), `"external_id":"key-`) {
			t.Errorf("%q: %.200s", key, got.Body)
		}
	}
}

// What guests and receivers wrote is never more than text in an answer to a
// program: a browser that opens one sees JSON, without a character that could
// begin a tag.
//
// Seen red with the escaping of the JSON encoder off, and without nosniff.
func TestHostileTextInAnswers(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const hostile = `<script>alert(1)</script><img src=x onerror=alert(1)>&"' </textarea>`
	f.world.tell("llm.complete", "W3", "says "+hostile)
	ended := f.start("ended", "W3", fmt.Sprintf(`"say":%q`, hostile))
	f.rest(ended)
	f.rest(f.start("failed", "W2", fmt.Sprintf(`"fail":%q`, hostile)))
	s := serve(t, f.engine, nil)
	found := 0
	for _, path := range []string{
		"runs", "runs/ended", "runs/failed", "runs/ended/logs", "runs/failed/logs", "runs?text=%3Cscript%3E",
		"runs?state=%3Cscript%3E", "runs?%3Cscript%3E=1", "runs/%3Cscript%3E", "workflows",
	} {
		got := s.get("api/v1/" + path)
		if strings.ContainsAny(string(got.body), "<>") {
			t.Errorf("%s: %.300s", path, got.body)
		}
		media := got.Header.Get("Content-Type")
		if media != "application/json" && media != "application/problem+json" || got.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s is %q, %q", path, media, got.Header.Get("X-Content-Type-Options"))
		}
		found += strings.Count(string(got.body), `\u003cscript\u003ealert(1)`)
	}
	if found < 5 {
		t.Errorf("the hostile text is in the answers only %d times", found)
	}
	p := s.post("api/v1/runs", `{"workflow":"<script>","input":{},"<script>":1}`).want(t, http.StatusUnprocessableEntity)
	if strings.ContainsAny(string(p.body), "<>") {
		t.Errorf("%s", p.body)
	}
	e := s.open("api/v1/runs/ended/events")
	for {
		got, ok := e.next()
		if !ok || got.data != "" {
			if strings.ContainsAny(got.data, "<>") {
				t.Errorf("%s", got.data)
			}
			break
		}
	}
}
