package browsertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// server is a process of pawl serve.
type server struct {
	t       *testing.T
	args    []string
	cmd     *exec.Cmd
	origin  string // "http://127.0.0.1:PORT"; stays when it is started again
	address string
}

// serve starts a server over a data directory.
func serve(t *testing.T, data string, folders ...string) *server {
	t.Helper()
	s := &server{t: t, address: "127.0.0.1:0", args: append([]string{"serve", "--data", data}, folders...)}
	s.start()
	t.Cleanup(s.stop)
	return s
}

var printedAddress = regexp.MustCompile(`http://(127\.0\.0\.1:\d+)`)

// start starts it, at the address that it had.
func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command(built.in(s.t, "pawl"), append(s.args, "--listen", s.address)...)
	s.cmd.Env = append(os.Environ(), "PAWL_CACHE="+built.in(s.t, "cache"))
	noise := new(bytes.Buffer)
	s.cmd.Stderr = noise
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := printedAddress.FindStringSubmatch(lines.Text()); m != nil {
			s.address, s.origin = m[1], m[0]
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return
		}
	}
	_ = s.cmd.Wait()
	s.t.Fatalf("the server did not start: %s", noise)
}

// kill kills it where it stands.
func (s *server) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	_ = s.cmd.Wait()
	if how := s.cmd.ProcessState.String(); how != "signal: killed" {
		s.t.Fatalf("the server was to be killed and ended otherwise: %s", how)
	}
}

// stop ends it in good order.
func (s *server) stop() {
	if s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("the server was stopped in good order and ended with: %v", err)
	}
}

// begin starts a run as a program does.
func (s *server) begin(workflow, id, input string) {
	s.t.Helper()
	body := fmt.Sprintf(`{"workflow":%q,"id":%q,"input":%s}`, workflow, id, input)
	resp, err := http.Post(s.origin+"/api/v1/runs", "application/json", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		text, _ := io.ReadAll(resp.Body) // for the message
		s.t.Fatalf("start of %s: %s %s", id, resp.Status, text)
	}
}

// document reads a run's.
func (s *server) document(run string) *pawl.Checkpoint {
	s.t.Helper()
	resp, err := http.Get(s.origin + "/api/v1/runs/" + run)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	c := new(pawl.Checkpoint)
	if err := json.NewDecoder(resp.Body).Decode(c); err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s %v", run, resp.Status, err)
	}
	return c
}

// step is a step of a document.
func step(t *testing.T, c *pawl.Checkpoint, name string) *pawl.StepCheckpoint {
	t.Helper()
	for i := range c.Steps {
		if c.Steps[i].Name == name {
			return &c.Steps[i]
		}
	}
	t.Fatalf("no step %s in %v", name, c.Steps)
	return nil
}

// resume presses the button as a program does.
func (s *server) resume() {
	s.t.Helper()
	resp, err := http.Post(s.origin+"/api/v1/runs/refund-T1/actions", "application/json", strings.NewReader(`{"action":"resume"}`))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body) // for the message
		s.t.Fatalf("resume: %s %s", resp.Status, text)
	}
}

// until waits until a run's document is as it should be.
func (s *server) until(run string, holds func(*pawl.Checkpoint) bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		c := s.document(run)
		if holds(c) {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%s is still %s: %+v", run, c.State, c.Reasons)
		}
	}
}
