package httptool_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/hosttest"
	"github.com/pawl-dev/pawl/host/httptool"
)

// counter is an honest receiver with books of its own: it knows keys if it is
// keyed, and says what became of one.
type counter struct {
	keyed bool
	read  bool                                      // it changes nothing
	place func(r *http.Request, body string) string // where it finds a key

	mu   sync.Mutex // guards what follows
	keys map[string]string
	n    int
	next string // what happens to the next sending: "", "lose", "drop", "hang"
	held chan struct{}
}

func (c *counter) effects() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func (c *counter) set(next string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next, c.held = next, make(chan struct{})
}

// take does what is asked for and returns the answer.
func (c *counter) take(key, body string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer, ok := c.keys[key]; ok && c.keyed {
		return answer
	}
	if c.read {
		return `{"order":1}`
	}
	c.n++
	c.keys[key] = fmt.Sprintf(`{"n":%d,"said":%q}`, c.n, body)
	return c.keys[key]
}

func (c *counter) mode() (string, chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.next
	c.next = ""
	return next, c.held
}

func (c *counter) known(key string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer, ok := c.keys[key]
	return answer, ok
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if key, asked := strings.CutPrefix(r.URL.Path, "/keys/"); asked {
		answer, ok := c.known(key)
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"error":"not known to ` + r.Header.Get("Authorization") + `"}`
		}
		_, _ = io.WriteString(w, answer)
		return
	}
	text, _ := io.ReadAll(r.Body)
	body := string(text)
	if strings.Contains(r.URL.Path+body, "refuse") {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, `{"error":"refused to `+r.Header.Get("Authorization")+`"}`)
		return
	}
	next, held := c.mode()
	switch next {
	case "hang":
		select {
		case <-held:
		case <-r.Context().Done():
		}
	case "drop":
		panic(http.ErrAbortHandler)
	}
	answer := c.take(c.place(r, body), body)
	if next == "lose" {
		panic(http.ErrAbortHandler)
	}
	_, _ = io.WriteString(w, answer)
}

// The tool keeps the promises of each class with a receiver that keeps its own,
// wherever the key goes and however the request is written.
//
// Seen red with the key left out of each of its places.
func TestTheToolKeepsItsPromises(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-value"
	inHeader := func(r *http.Request, _ string) string { return r.Header.Get("Idempotency-Key") }
	inQuery := func(r *http.Request, _ string) string { return r.URL.Query().Get("once") }
	inForm := func(_ *http.Request, body string) string {
		form, _ := url.ParseQuery(body)
		return form.Get("meta[once]")
	}
	inJSON := func(_ *http.Request, body string) string {
		var request struct{ Meta struct{ Once string } }
		_ = json.Unmarshal([]byte(body), &request)
		return request.Meta.Once
	}
	inBody := httptool.Key{JSON: "/meta/once"}
	asked := &httptool.Verify{URL: "/keys/{key}"}
	for name, row := range map[string]struct {
		class host.Class
		cfg   httptool.Config
		place func(*http.Request, string) string
	}{
		"read":                   {host.Read, httptool.Config{URL: "/orders/{order}"}, inHeader},
		"read by POST":           {host.Read, httptool.Config{Method: "POST"}, inHeader},
		"keyed":                  {host.Keyed, httptool.Config{}, inHeader},
		"keyed, as a form":       {host.Keyed, httptool.Config{Body: "form"}, inHeader},
		"keyed, in a form":       {host.Keyed, httptool.Config{Body: "form", Key: inBody}, inForm},
		"keyed, in JSON":         {host.Keyed, httptool.Config{Key: inBody}, inJSON},
		"keyed, in the query":    {host.Keyed, httptool.Config{Key: httptool.Key{Query: "once", Format: "uuid"}}, inQuery},
		"keyed, a DELETE":        {host.Keyed, httptool.Config{URL: "/orders/{order}", Method: "DELETE"}, inHeader},
		"keyed, can be asked":    {host.Keyed, httptool.Config{Verify: asked}, inHeader},
		"verify":                 {host.Verify, httptool.Config{Verify: asked}, inHeader},
		"verify, UUID":           {host.Verify, httptool.Config{Verify: asked, Key: httptool.Key{Format: "uuid"}}, inHeader},
		"verify, in the query":   {host.Verify, httptool.Config{Verify: asked, Key: httptool.Key{Query: "once"}}, inQuery},
		"verify, in a form":      {host.Verify, httptool.Config{Verify: asked, Body: "form", Key: inBody}, inForm},
		"once":                   {host.Once, httptool.Config{}, inHeader},
		"once that can be asked": {host.Once, httptool.Config{Verify: asked}, inHeader},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			books := &counter{keyed: row.class == host.Keyed, read: row.class == host.Read, place: row.place, keys: map[string]string{}}
			s := server(t, books.ServeHTTP)
			row.cfg.Headers = map[string]string{"Authorization": "Bearer {secret.token}"}
			tool := toward(t, row.class, s.URL, row.cfg)
			hosttest.Exercise(t, tool, func(n int) []byte { return fmt.Appendf(nil, `{"order":%d}`, n) }, books.effects, &hosttest.Options{
				Refused: func() []byte { return []byte(`{"order":"refuse"}`) },
				Lose:    func() { books.set("lose") },
				Drop:    func() { books.set("drop") },
				Hang: func() func() {
					books.set("hang")
					return func() { close(books.held) }
				},
				Secrets:  []string{secret},
				Patience: time.Minute,
			})
		})
	}
}
