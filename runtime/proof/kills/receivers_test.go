package kills_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The kinds of a line.
const (
	lineRequest  = "request"  // it came in
	lineEffect   = "effect"   // it happened
	lineAnswer   = "answer"   // it was answered
	lineConflict = "conflict" // a key came with another body, or none came
)

// line is one line of the receivers' ledger.
type line struct {
	N     int             `json:"n"` // from 0
	Kind  string          `json:"kind"`
	Tool  string          `json:"tool"`
	Run   string          `json:"run"`
	Step  string          `json:"step"`
	Key   string          `json:"key"`
	Life  int             `json:"life"`            // of an answer: the one at work when it was given; else the one that asked
	Fault string          `json:"fault,omitempty"` // of a request: what is done wrong with it
	Of    int             `json:"of"`              // of an effect or an answer: its request
	Body  json.RawMessage `json:"body,omitempty"`  // of an effect: what is answered for it
}

func (l *line) act() act { return act{l.Step, l.Tool} }

// receivers are the world outside: a process of their own that outlives every
// kill of the engine's. What happens is in their ledger, synced, before it is
// answered, and is nowhere else.
type receivers struct {
	busy sync.WaitGroup // requests that may still have an effect

	mu    sync.Mutex // guards what follows
	lines []line
	file  *os.File
	life  int
	quiet bool             // no faults any more
	byKey map[string][]int // numbers of effects
}

// receive is the process. It ends with its standard input.
func receive(ledger string) error {
	file, err := os.Create(ledger)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	r := &receivers{file: file, byKey: map[string][]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{tool}", r.act)
	mux.HandleFunc("GET /{tool}", r.asked)
	mux.HandleFunc("POST /control/{what}/{n}", r.control)
	mux.HandleFunc("GET /control/lines", r.tell)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ln) }()
	_, _ = io.Copy(io.Discard, os.Stdin) // an error is an end too
	_ = srv.Close()
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return file.Close()
}

// faultOf is what is done wrong with a request.
func faultOf(tool string) string {
	switch p := rand.IntN(100); {
	case p < 15:
		return "slow"
	case tool == look:
	case tool == post && p < 50:
		return "busy"
	case tool == sms && p < 20 || tool != post && tool != sms && p < 25:
		return "500 after it"
	case tool != post && tool != sms && p < 30:
		return "silent after it"
	}
	return ""
}

func (r *receivers) act(rw http.ResponseWriter, q *http.Request) {
	r.busy.Add(1)
	defer r.busy.Done()
	tool, key := q.PathValue("tool"), q.Header.Get("Idempotency-Key")
	l := line{Kind: lineRequest, Tool: tool, Key: key, Life: lifeNamed(q.Header.Get("Life"))}
	body, err := io.ReadAll(q.Body)
	if err == nil {
		err = json.Unmarshal(body, &struct{ Run, Step *string }{&l.Run, &l.Step})
	}
	if err == nil && l.Life == 0 {
		err = errors.New("a request of nobody")
	}
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	of, fault := r.came(l)
	l.Of = of
	switch fault {
	case "slow":
		time.Sleep(time.Duration(5+rand.IntN(100)) * time.Millisecond)
	case "busy":
		http.Error(rw, "no time", http.StatusServiceUnavailable)
		return
	}
	answer, err := r.happen(l, string(bytes.TrimSpace(body)))
	switch {
	case err != nil:
		http.Error(rw, err.Error(), http.StatusUnprocessableEntity)
		return
	case strings.HasPrefix(fault, "500"):
		http.Error(rw, "out of order", http.StatusInternalServerError)
		return
	case strings.HasPrefix(fault, "silent"):
		panic(http.ErrAbortHandler)
	}
	rw.Header().Set("Content-Type", "application/json")
	if _, err := rw.Write(answer); err == nil {
		l.Kind = lineAnswer
		r.mu.Lock()
		defer r.mu.Unlock()
		l.Life = r.life
		r.add(l, false)
	}
}

func (r *receivers) came(l line) (n int, fault string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.quiet {
		l.Fault = faultOf(l.Tool)
	}
	return r.add(l, false), l.Fault
}

// happen makes the effect of a request. Who was promised keyed gets the first
// answer again; the others do what they are asked as often as they are asked.
func (r *receivers) happen(l line, body string) (answer json.RawMessage, err error) {
	if l.Tool == look {
		return json.RawMessage(`{"id":"look","saw":true}`), nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, first := range r.effects(l.Tool, l.Key) {
		if first.Run != l.Run || first.Step != l.Step || l.Key == "" {
			l.Kind = lineConflict
			r.add(l, false)
			return nil, errors.New("another request had this key: " + body)
		}
		if l.Tool == pay || l.Tool == post {
			return first.Body, nil
		}
	}
	l.Kind = lineEffect
	l.Body = fmt.Appendf(nil, `{"id":"%s-%d","cents":%d}`, l.Tool, len(r.lines), 1+len(r.lines)%7)
	r.add(l, true)
	return l.Body, nil
}

// asked answers what became of a key.
func (r *receivers) asked(rw http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	data := []json.RawMessage{}
	for _, l := range r.effects(q.PathValue("tool"), q.URL.Query().Get("key")) {
		data = append(data, l.Body)
	}
	r.mu.Unlock()
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(map[string]any{"data": data}) // whoever is gone does not get it
}

// effects are those of a key. The caller holds mu.
func (r *receivers) effects(tool, key string) (found []line) {
	for _, n := range r.byKey[key] {
		if r.lines[n].Tool == tool {
			found = append(found, r.lines[n])
		}
	}
	return found
}

// add appends a line. The caller holds mu.
func (r *receivers) add(l line, sync bool) int {
	l.N = len(r.lines)
	r.lines = append(r.lines, l)
	if l.Kind == lineEffect {
		r.byKey[l.Key] = append(r.byKey[l.Key], l.N)
	}
	text, err := json.Marshal(l)
	if err == nil {
		_, err = r.file.Write(append(text, '\n'))
	}
	if err == nil && sync {
		err = r.file.Sync()
	}
	if err != nil {
		panic(err) // without a ledger nothing is proven
	}
	return l.N
}

// control is how the test turns faults off, counts lives, waits for what is under
// way, and takes the world back to where it was.
func (r *receivers) control(rw http.ResponseWriter, q *http.Request) {
	n, err := strconv.Atoi(q.PathValue("n"))
	if q.PathValue("what") == "idle" {
		r.busy.Wait()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch what := q.PathValue("what"); {
	case err != nil:
	case what == "life":
		r.life = n
	case what == "quiet":
		r.quiet = n != 0
	case what == "back":
		r.lines = r.lines[:n]
		r.byKey = map[string][]int{}
		for _, l := range r.lines {
			if l.Kind == lineEffect {
				r.byKey[l.Key] = append(r.byKey[l.Key], l.N)
			}
		}
	default:
		err = errors.New("no such control")
	}
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
	}
}

func (r *receivers) tell(rw http.ResponseWriter, q *http.Request) {
	from, _ := strconv.Atoi(q.URL.Query().Get("from")) // from the beginning otherwise
	r.mu.Lock()
	lines := append([]line{}, r.lines[min(from, len(r.lines)):]...)
	r.mu.Unlock()
	_ = json.NewEncoder(rw).Encode(lines)
}
