package disks_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// receiver is the world outside: it lives in the test's process and outlives all
// lives. What it did is in its ledger, synced, before it is answered. A key that
// comes again has no second effect.
type receiver struct {
	t      *testing.T
	server *httptest.Server
	ledger string

	mu   sync.Mutex // guards what follows
	file *os.File
	keys map[string]int   // requests by key
	came func(key string) // called for each request before it has an effect; may be nil
}

func startReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t, ledger: filepath.Join(t.TempDir(), "ledger"), keys: map[string]int{}}
	var err error
	if r.file, err = os.Create(r.ledger); err != nil {
		t.Fatal(err)
	}
	r.server = httptest.NewServer(r)
	t.Cleanup(func() {
		r.server.Close()
		if err := r.file.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *receiver) ServeHTTP(rw http.ResponseWriter, q *http.Request) {
	_, _ = io.Copy(io.Discard, q.Body) // who sends is gone otherwise, and what came has its effect
	r.mu.Lock()
	defer r.mu.Unlock()
	key := q.Header.Get("Idempotency-Key")
	if key == "" {
		r.t.Error("a request without a key")
	}
	if r.came != nil {
		r.came(key)
	}
	r.keys[key]++
	if r.keys[key] == 1 {
		_, err := fmt.Fprintln(r.file, key)
		if err == nil {
			err = r.file.Sync()
		}
		if err != nil {
			r.t.Error(err)
		}
	}
	rw.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(rw, `{"ok":true}`) // as above
}

// set changes what is done with requests from now on.
func (r *receiver) set(came func(key string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.came = came
}

func (r *receiver) requests() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, times := range r.keys {
		n += times
	}
	return n
}

// effects are the keys in the ledger.
func (r *receiver) effects() []string {
	r.t.Helper()
	text, err := os.ReadFile(r.ledger)
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// keysNow are the keys of all requests so far.
func (r *receiver) keysNow() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.keys)
}
