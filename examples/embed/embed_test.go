package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// childVariable holds, in a process that the test began, the data directory, the
// workflow's folder, and the account in whose entry the process stops for ever
// after it has been written; empty for none.
const childVariable = "EMBED_TEST_CHILD"

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		args := strings.Split(text, "|")
		ctx, stop := context.WithCancel(context.Background())
		go func() { // the test ends the server by closing its standard input
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
		if err := serve(ctx, "127.0.0.1:0", args[0], args[1], holding(args[2])); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// holding stops for ever when the account's entry has been written.
func holding(account string) func(enterFunc) enterFunc {
	return func(enter enterFunc) enterFunc {
		return func(ctx context.Context, c *host.Call, e entry) (entered, error) {
			done, err := enter(ctx, c, e)
			if e.Account == account {
				fmt.Println("entered", account)
				select {}
			}
			return done, err
		}
	}
}

// server is a process of the example.
type server struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.Closer
	says  *bufio.Scanner
	url   string
}

func start(t *testing.T, dir, folder, hold string) *server {
	t.Helper()
	s := &server{t: t, cmd: exec.Command(os.Args[0])}
	s.cmd.Env = append(os.Environ(), childVariable+"="+strings.Join([]string{dir, folder, hold}, "|"))
	s.cmd.Stderr = os.Stderr
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.stdin, s.says = stdin, bufio.NewScanner(stdout)
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait() })
	s.url = "http://" + strings.TrimPrefix(s.line(), "listening ")
	return s
}

// line is the next one that the server prints.
func (s *server) line() string {
	s.t.Helper()
	if !s.says.Scan() {
		s.t.Fatal("the server ended")
	}
	return s.says.Text()
}

func (s *server) post(order string) int {
	s.t.Helper()
	resp, err := http.Post(s.url+"/orders", "application/json", strings.NewReader(order))
	if err != nil {
		s.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// get returns what is at a path.
func (s *server) get(path string) string {
	s.t.Helper()
	resp, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s %v", path, resp.Status, err)
	}
	return string(text)
}

// completed waits until the order's run is.
func (s *server) completed(id string) *pawl.Checkpoint {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		resp, err := http.Get(s.url + "/orders/" + id)
		if err != nil {
			s.t.Fatal(err)
		}
		var c pawl.Checkpoint
		err = json.NewDecoder(resp.Body).Decode(&c)
		_ = resp.Body.Close()
		if err != nil {
			s.t.Fatal(err)
		}
		if c.State == pawl.StateCompleted {
			return &c
		}
		if time.Now().After(end) {
			s.t.Fatalf("order %s: %s %+v", id, c.State, c.Reasons)
		}
	}
}

// The server is killed after an entry has been written and before anybody was
// told. The next one goes on by itself, a client that posts its order again gets
// the same run, and every entry is in the books once.
// Seen red with the class keyed, which the books do not keep.
func TestKilledServerEntersEachOrderOnce(t *testing.T) {
	dir, folder := t.TempDir(), "."
	const order = `{"id":"A1","item":"teapot","cents":2380}`
	for _, account := range []string{"sales", "tax"} {
		s := start(t, dir, folder, account)
		if got := s.post(strings.ReplaceAll(order, "A1", "A-"+account)); got != http.StatusAccepted {
			t.Fatalf("status %d", got)
		}
		if got := s.line(); got != "entered "+account {
			t.Fatal(got)
		}
		if err := s.cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = s.cmd.Wait()
		s = start(t, dir, folder, "")
		s.completed("A-" + account) // without anybody asking for it
		if got := s.post(strings.ReplaceAll(order, "A1", "A-"+account)); got != http.StatusAccepted {
			t.Errorf("again: status %d", got)
		}
		if got := s.post(strings.ReplaceAll(strings.ReplaceAll(order, "A1", "A-"+account), "teapot", "cup")); got != http.StatusConflict {
			t.Errorf("another order with the same id: status %d", got)
		}
		if panel := s.get(panelPath); !strings.Contains(panel, "Order A-"+account) || !strings.Contains(panel, "completed") {
			t.Errorf("the panel does not show the order:\n%s", panel)
		}
		if got := s.post(`{"id":"A2","item":"cup","cents":0}`); got != http.StatusUnprocessableEntity {
			t.Errorf("an order that does not fit: status %d", got)
		}
		_ = s.stdin.Close()
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("stopped in good order: %v", err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "books.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		counts[e.Account]++
	}
	if counts["sales"] != 2 || counts["tax"] != 2 || len(counts) != 2 {
		t.Errorf("the books have %v", counts)
	}
}
