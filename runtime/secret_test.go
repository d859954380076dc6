package runtime_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-dev/pawl/host/httptool"
	"github.com/pawl-dev/pawl/host/toolfile"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// gossip is a receiver that takes one token and says it back in every answer,
// in every form that it can think of.
type gossip struct {
	mu    sync.Mutex // guards what follows
	token string     // the one that it takes
	seen  map[string]int
	keys  map[string]bool // applied by /lost, whose answers get lost
	well  bool            // it answers queries
}

// mark is part of every answer, so that a search that finds nothing at all is
// noticed.
const mark = "this-is-kept"

func (g *gossip) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	token := strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer ")
	g.seen[q.Method+" "+q.URL.Path+" "+token]++
	text, _ := json.Marshal(append(spoken(token), mark))
	status, body := http.StatusOK, string(text)
	switch {
	case token != g.token:
		status = http.StatusUnauthorized
	case q.Method == http.MethodGet && !g.well:
		status = http.StatusServiceUnavailable
	case q.Method == http.MethodGet && g.keys[q.URL.Query().Get("key")]:
		body = `{"data":[` + body + `]}`
	case q.URL.Path == "/lost":
		g.keys[q.Header.Get("Idempotency-Key")] = true
		status = http.StatusInternalServerError
	case q.URL.Path == "/refused":
		status = http.StatusUnprocessableEntity
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// spoken are the forms in which a receiver says a secret back.
func spoken(secret string) []string {
	quoted, _ := json.Marshal(secret)
	all := []string{
		secret, string(quoted[1 : len(quoted)-1]), url.QueryEscape(secret), url.PathEscape(secret), strings.ToLower(url.QueryEscape(secret)),
	}
	for _, before := range []string{"", "x", "Bearer "} { // three places within the groups of base64
		all = append(all, base64.StdEncoding.EncodeToString([]byte(before+secret)), base64.RawURLEncoding.EncodeToString([]byte(before+secret)))
	}
	return all
}

// forms are what is looked for of those: without what neighbours may change.
func forms(secret string) []string {
	all := spoken(secret)
	for i := 5; i < len(all); i++ {
		all[i] = all[i][12 : len(all[i])-6]
	}
	return all
}

const gossipTools = `pawl = 1
[secret]
pay_token = { file = "token", account = "acme" }
[tool.keyed]
kind = "http"
effect = "keyed"
url = "%ADDR%/fine"
headers = { Authorization = "Bearer {secret.pay_token}" }
allow = ["private"]
method = "POST"
[tool.read]
kind = "http"
effect = "read"
url = "%ADDR%/refused"
headers = { Authorization = "Bearer {secret.pay_token}" }
allow = ["private"]
method = "POST"
[tool.asked]
kind = "http"
effect = "verify"
url = "%ADDR%/lost"
headers = { Authorization = "Bearer {secret.pay_token}" }
allow = ["private"]
method = "POST"
retry = { tries = 2, backoff = "1ms", max_backoff = "1ms" }
[tool.asked.verify]
url = "%ADDR%/lost?key={key}"
settle = "1ms"
applied = "size(response.data) == 1"
absent = "size(response.data) == 0"
receipt = "/data/0"
[tool.once]
kind = "http"
url = "%ADDR%/refused"
headers = { Authorization = "Bearer {secret.pay_token}" }
allow = ["private"]
method = "POST"
`

// A tool needs a token, and its receiver says it back in answers, refusals and
// failures: no byte of it is in the store's files, in what is stored, in logs
// and events, or in the checkpoint document, raw, in base64 or URL-encoded. When
// the token is rotated meanwhile the run goes on with the new one, with the
// effect found that had happened under the old one.
//
// Seen red with nothing cut out, with base64 not cut out, and with a secret
// that is read once.
func TestNoFormOfASecretIsKeptAndARotatedOneWorks(t *testing.T) {
	t.Parallel()
	tokens := []string{"tok/first+\"<é>&=~0123456789-abcdef", "tok/second+\"<é>&=~9876543210-fedcba"}
	g := &gossip{token: tokens[0], seen: map[string]int{}, keys: map[string]bool{}}
	server := httptest.NewServer(g)
	defer server.Close()
	dir := t.TempDir()
	rotate := func(token string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "token"), []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rotate(tokens[0])
	file := filepath.Join(dir, toolfile.Name)
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(gossipTools, "%ADDR%", server.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	tools, err := toolfile.Load(file, map[string]toolfile.Kind{"http": httptool.Kind})
	if err != nil {
		t.Fatal(err)
	}
	b, told := setup(t), new(safeBuffer)
	b.tools = tools
	b.opts.Logger = slog.New(slog.NewTextHandler(told, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.opts.Observer = func(e pawl.Event) { fmt.Fprintf(told, "%+v\n", e) }
	b.reopen()
	w := b.deploy(folder(t, "", `tools = ["keyed", "read"]`, `tools = ["asked", "once"]`))
	c := b.rest(b.start(w, "r1", `{"one":[{"call":"keyed"},{"call":"read","ignore":true},{"tell":true}],"two":[{"call":"asked"},{"call":"once"}]}`))
	if c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "unknown" {
		t.Fatalf("state %s: %+v, %+v", c.State, c.Reasons, c.LastError)
	}
	documents := []*pawl.Checkpoint{c}
	g.mu.Lock()
	g.token, g.well = tokens[1], true
	g.mu.Unlock()
	rotate(tokens[1])
	c = b.resume("r1")
	documents = append(documents, c)
	if c.State != pawl.StateFailed || c.LastError.Code == "" || len(c.Step("two").Calls) != 2 {
		t.Fatalf("state %s: %+v, %+v", c.State, c.Reasons, c.LastError)
	}
	for i, outcome := range []string{"applied", "rejected"} {
		if got := string(c.Step("two").Calls[i].Outcome); got != outcome {
			t.Errorf("call %d: %s, want %s", i, got, outcome)
		}
	}
	g.mu.Lock()
	for request, n := range map[string]int{"POST /fine " + tokens[0]: 1, "POST /lost " + tokens[0]: 1, "GET /lost " + tokens[1]: 1, "POST /refused " + tokens[1]: 1} {
		if g.seen[request] != n {
			t.Errorf("%q: %d requests, want %d of %v", request, g.seen[request], n, g.seen)
		}
	}
	if n := len(g.keys); n != 1 {
		t.Errorf("%d effects under keys of their own", n)
	}
	g.mu.Unlock()
	lines, err := b.find("r1").Logs()
	if err != nil || len(lines) != 1 || !strings.Contains(lines[0].Text, mark) {
		t.Errorf("logged %v, %v", lines, err)
	}
	text, err := json.Marshal(documents)
	if err != nil {
		t.Fatal(err)
	}
	stored := fmt.Sprint(keysOf(t, b.store))
	b.close()
	places := map[string][]byte{"documents": text, "records": []byte(stored), "logs and events": told.bytes()}
	maps.Copy(places, contents(t, b.dir))
	b.open()
	found := 0
	for place, content := range places {
		found += bytes.Count(content, []byte(mark))
		for _, secret := range tokens {
			for _, form := range forms(secret) {
				if at := bytes.Index(content, []byte(form)); at >= 0 {
					t.Errorf("%s: %q at %d", place, form, at)
				}
			}
		}
	}
	for _, place := range []string{"documents", "records"} {
		if !bytes.Contains(places[place], []byte(mark)) || !bytes.Contains(places[place], []byte("[secret pay_token]")) {
			t.Errorf("%s: nothing was looked through", place)
		}
	}
	if files := found - bytes.Count(places["documents"], []byte(mark)) - bytes.Count(places["records"], []byte(mark)) - bytes.Count(places["logs and events"], []byte(mark)); files < 3 {
		t.Errorf("what was stored is %d times in files of %v", files, slices.Sorted(maps.Keys(places)))
	}
	if !bytes.Contains(places["logs and events"], []byte("asked")) {
		t.Error("nothing was told")
	}
}

// contents are the contents of all files under dir.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = text
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// safeBuffer is what several goroutines write into.
type safeBuffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.text.Bytes())
}
