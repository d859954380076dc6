package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// serving is a server in this process.
type serving struct {
	t      *testing.T
	data   string
	url    string
	client *http.Client
	log    *lockedBuffer
	cancel context.CancelFunc
	status chan int
}

// serve starts a server on a data directory. It ends with the test.
func serve(t *testing.T, data string) *serving {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &serving{t: t, data: data, client: &http.Client{Transport: new(http.Transport)}, log: new(lockedBuffer), cancel: cancel, status: make(chan int, 1)}
	out, in := io.Pipe()
	go func() {
		s.status <- run(ctx, []string{"serve", "--listen", "127.0.0.1:0", "--data", data, "--json"}, nil, in, s.log)
		_ = in.Close()
	}()
	t.Cleanup(func() { s.stop(0) })
	line, err := bufio.NewReader(out).ReadString('\n')
	var said struct{ URL, Data, Socket string }
	if err != nil || json.Unmarshal([]byte(line), &said) != nil || said.Data != data {
		t.Fatalf("said %q (%v)\n%s", line, err, s.log)
	}
	s.url = said.URL
	return s
}

// stop ends it as a signal does; nothing happens if it has ended already.
func (s *serving) stop(want int) {
	s.t.Helper()
	s.cancel()
	if got, running := <-s.status; running {
		close(s.status)
		if got != want {
			s.t.Errorf("exit status %d, want %d\n%s", got, want, s.log)
		}
	}
	s.client.CloseIdleConnections()
}

// get returns the answer's status and body.
func (s *serving) get(path string) (int, string) {
	s.t.Helper()
	answer, err := s.client.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// Pages are open, in a browser and through the socket, and connections are kept:
// nothing of it keeps the server, or outlives it (goleak looks at the end of all
// tests).
// Seen red, on both ways, with streams that last as long as their connection.
func TestAServerStopsWhatIsOpen(t *testing.T) {
	t.Parallel()
	s := serve(t, shortDir(t))
	if status, body := s.get("readyz"); status != http.StatusOK {
		t.Errorf("not ready: %s", body)
	}
	socket := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialSocket(ctx, s.data)
	}}}
	defer socket.CloseIdleConnections()
	var streams []*http.Response
	for _, open := range []struct {
		client *http.Client
		url    string
	}{{s.client, s.url}, {socket, "http://localhost/"}} {
		answer, err := open.client.Get(open.url + "api/v1/events")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if _, err := answer.Body.Read(make([]byte, 1)); err != nil { // it is under way
			t.Fatal(err)
		}
		streams = append(streams, answer)
	}
	s.stop(0)
	for _, answer := range streams {
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Errorf("a stream did not end, it broke: %v", err)
		}
	}
	if names, _ := filepath.Glob(filepath.Join(s.data, socketName)); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
	if _, err := (&net.Dialer{}).Dial("tcp", strings.Trim(strings.TrimPrefix(s.url, "http://"), "/")); err == nil {
		t.Error("it still listens")
	}
}

func TestAServerStartsAndStopsReadiness(t *testing.T) {
	t.Parallel()
	listener, err := listenLoopback(t.Context(), "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	f := openFront(listener, slog.New(slog.DiscardHandler))
	defer f.close()
	s := &serving{t: t, url: "http://" + f.addr.String() + "/", client: &http.Client{Transport: new(http.Transport)}}
	defer s.client.CloseIdleConnections()
	for path, want := range map[string]int{"healthz": 200, "readyz": 503, "metrics": 503, "": 503, "api/v1/runs": 503} {
		if status, body := s.get(path); status != want {
			t.Errorf("while it starts, /%s answers %d %s", path, status, body)
		}
	}
	stopping := &server{front: f}
	stopping.stopping.Store(true)
	f.server.Store(stopping)
	if status, body := s.get("readyz"); status != 503 || !strings.Contains(body, "stopping") {
		t.Errorf("while it stops: %d %s", status, body)
	}
	if status, _ := s.get("healthz"); status != 200 {
		t.Errorf("while it stops it is not alive: %d", status)
	}
}

// Seen red with readiness that does not look at the store.
func TestAHeldStoreIsNotReady(t *testing.T) {
	t.Parallel()
	original, copied := shortDir(t), shortDir(t)
	serve(t, original).stop(0)
	if err := os.CopyFS(copied, os.DirFS(original)); err != nil {
		t.Fatal(err)
	}
	s := serve(t, copied)
	if status, body := s.get("readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "copy") {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := s.get("api/v1/runs"); status != http.StatusOK {
		t.Errorf("it cannot be looked at: %d", status)
	}
}

// A page of elsewhere whose name was made to lead here reads nothing.
// Seen red without the look at the host.
func TestOnlyRequestsToThisMachineAreAnswered(t *testing.T) {
	t.Parallel()
	s := serve(t, shortDir(t))
	for host, want := range map[string]int{
		"evil.example": 403, "evil.example:7717": 403, "127.0.0.1.evil.example": 403, "192.0.2.1": 403, "": 403,
		"localhost": 200, "LOCALHOST:1": 200, "panel.localhost:7717": 200, "127.1.2.3": 200, "[::1]:7717": 200,
	} {
		for _, path := range []string{"healthz", "readyz", "api/v1/health"} {
			if got := statusFor(t, s, host, path); got != want {
				t.Errorf("Host %q: /%s answers %d, want %d", host, path, got, want)
			}
		}
		if got := statusFor(t, s, host, "metrics"); (got == 403) != (want == 403) {
			t.Errorf("Host %q: /metrics answers %d", host, got)
		}
	}
}

// statusFor asks with a Host of its own, which may be empty.
func statusFor(t *testing.T, s *serving, host, path string) int {
	t.Helper()
	conn, err := net.Dial("tcp", strings.Trim(strings.TrimPrefix(s.url, "http://"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /"+path+" HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode
}

// What commands ask for is asked through the socket alone, which has modes.
// Seen red with the desk behind the front too.
func TestTheListenerTakesNoCommands(t *testing.T) {
	t.Parallel()
	s := serve(t, shortDir(t))
	for _, path := range []string{pathHello, pathRun + "?ref=@last", pathList, pathDeploy} {
		if status, body := s.get(strings.TrimPrefix(path, "/")); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// Somebody has the directory; who answers at its socket decides what is told.
// Seen red with whoever answers taken for the server of the directory, and with
// the version not looked at.
func TestWhoAnswersAtTheSocket(t *testing.T) {
	t.Parallel()
	mine := readVersion()
	newer := mine
	newer.Version = "v9.9.9"
	for name, row := range map[string]struct {
		hello  func(data string) any
		code   string
		notice string
	}{
		"nobody":               {nil, "store_locked", ""},
		"no server of ours":    {func(string) any { return "x" }, "store_locked", ""},
		"another directory's":  {func(string) any { return hello{protocol, 1, os.TempDir(), mine} }, "store_locked", ""},
		"one that speaks more": {func(data string) any { return hello{protocol + 1, 1, data, newer} }, "version_mismatch", ""},
		"another version":      {func(data string) any { return hello{protocol, 1, data, newer} }, "", "is pawl v9.9.9"},
		"this version":         {func(data string) any { return hello{protocol, 1, data, mine} }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := shortDir(t)
			store, err := kv.Open(data, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			if row.hello != nil {
				answerAt(t, data, row.hello(data))
			}
			var out bytes.Buffer
			g := &Globals{Data: data, stderr: &out}
			k, err := g.open(t.Context(), pawl.Options{})
			switch {
			case row.code == "" && (err != nil || k == nil):
				t.Fatal(err)
			case row.code == "":
				k.close(&err)
			case err == nil || problemOf(err).Code != row.code || problemOf(err).Status != statusUnavailable:
				t.Errorf("got %v", err)
			}
			if row.code == "version_mismatch" && !strings.Contains(err.Error(), "v9.9.9") {
				t.Errorf("got %v", err)
			}
			if row.notice == "" && out.Len() > 0 || !strings.Contains(out.String(), row.notice) {
				t.Errorf("told %q", &out)
			}
		})
	}
}

// A command that is told to end waits for no server that says nothing more.
//
// Seen red with the requests' contexts left at Background.
func TestACommandThatIsToldToEndWaitsForNoServer(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(context.Context, *remote) error{
		"a list": func(ctx context.Context, r *remote) error { _, err := r.list(ctx, nil); return err },
		"a run":  func(ctx context.Context, r *remote) error { _, err := r.checkpoint(ctx, "x"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := shortDir(t)
			ctx, end := context.WithCancel(t.Context())
			defer end()
			serveAt(t, data, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == pathHello {
					reply(w, hello{protocol, 1, data, readVersion()}, nil)
					return
				}
				_, _ = io.Copy(io.Discard, r.Body) // only then is it seen that the command has gone
				end()
				select {
				case <-r.Context().Done():
				case <-time.After(time.Minute): // far too late
				}
			})
			r, err := (&Globals{Data: data, stderr: io.Discard}).dial(t.Context(), nil)
			if err != nil || r == nil {
				t.Fatal(r, err)
			}
			if err := ask(ctx, r); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// answerAt answers hello at the socket of a directory until the test ends.
func answerAt(t *testing.T, data string, what any) {
	t.Helper()
	serveAt(t, data, func(w http.ResponseWriter, _ *http.Request) { reply(w, what, nil) })
}

// serveAt answers at the socket of a directory until the test ends.
func serveAt(t *testing.T, data string, h http.HandlerFunc) {
	t.Helper()
	s, err := openSocket(data)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(s); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
		_ = s.close()
	})
}
