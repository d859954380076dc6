package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// serverCommands are the commands about a server:
//
//	server start [ARGS...]  starts pawl serve and waits until it serves; URL is its address
//	server stop STATUS      sends SIGTERM and wants that exit status
//	server term             sends SIGTERM and does not wait
//	server kill             sends SIGKILL
//	port                    PORT is its port
//	rests RUN STATE         waits until the run stands like that
//	sockets N [MODE DIR]    there are so many outside data directories, with these modes
//	get STATUS PATH         asks it; the answer is in the file answer
//	post STATUS PATH JSON
//
// Its log is in the file server.log. It is killed with the script.
func serverCommands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	s := &servers{running: map[*testscript.TestScript]*exec.Cmd{}}
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"server":  s.command,
		"port":    func(ts *testscript.TestScript, _ bool, _ []string) { port(ts) },
		"rests":   func(ts *testscript.TestScript, _ bool, args []string) { rests(ts, args) },
		"sockets": func(ts *testscript.TestScript, _ bool, args []string) { socketsAre(ts, args) },
		"get":     func(ts *testscript.TestScript, _ bool, args []string) { ask(ts, http.MethodGet, args) },
		"post":    func(ts *testscript.TestScript, _ bool, args []string) { ask(ts, http.MethodPost, args) },
	}
}

// servers are those of the scripts.
type servers struct {
	mu      sync.Mutex // guards running
	running map[*testscript.TestScript]*exec.Cmd
}

func (s *servers) command(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: server start|stop|term|kill")
	}
	if args[0] == "start" {
		s.start(ts, args[1:])
		return
	}
	s.mu.Lock()
	cmd := s.running[ts]
	s.mu.Unlock()
	if cmd == nil {
		ts.Fatalf("no server")
	}
	switch args[0] {
	case "kill":
		ts.Check(cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
	case "term":
		ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	case "stop":
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
			ts.Check(err)
		}
		if got := cmd.ProcessState.ExitCode(); len(args) != 2 || strconv.Itoa(got) != args[1] {
			ts.Fatalf("the server ended with %d, want %v\n%s", got, args[1:], ts.ReadFile("server.log"))
		}
	}
}

// inherited are the variables that the program may look at.
var inherited = []string{
	"HOME", "PATH", "TMPDIR", "PAWL_CACHE", "PAWL_DATA", "PAWL_TOOLS", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "OTEL_EXPORTER_OTLP_ENDPOINT",
}

func (s *servers) start(ts *testscript.TestScript, args []string) {
	cmd := exec.Command(ts.Getenv("PAWL_PROGRAM"), append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	for _, name := range inherited {
		if value := ts.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	log, err := os.Create(ts.MkAbs("server.log"))
	ts.Check(err)
	defer log.Close()
	cmd.Dir, cmd.Stderr = ts.MkAbs("."), log
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s.mu.Lock()
	s.running[ts] = cmd
	s.mu.Unlock()
	said, err := bufio.NewReader(stdout).ReadString('\n')
	at, ok := strings.CutPrefix(strings.TrimSpace(said), "The panel is at ")
	if !ok {
		ts.Fatalf("the server said %q (%v)\n%s", said, err, ts.ReadFile("server.log"))
	}
	ts.Setenv("URL", at)
}

// ask asks the server.
func ask(ts *testscript.TestScript, method string, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: get|post STATUS PATH [JSON]")
	}
	request, err := http.NewRequest(method, strings.TrimSuffix(ts.Getenv("URL"), "/")+args[1], strings.NewReader(strings.Join(args[2:], " ")))
	ts.Check(err)
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(request)
	ts.Check(err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("answer"), body, 0o600))
	if strconv.Itoa(answer.StatusCode) != args[0] {
		ts.Fatalf("%s %s: %s, want %s\n%s", method, args[1], answer.Status, args[0], body)
	}
}

func port(ts *testscript.TestScript) {
	at, err := url.Parse(ts.Getenv("URL"))
	ts.Check(err)
	ts.Setenv("PORT", at.Port())
}

func rests(ts *testscript.TestScript, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: rests RUN STATE")
	}
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var c pawl.Checkpoint
		ts.Check(ts.Exec("pawl", "show", args[0], "--json"))
		ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &c))
		if string(c.State) == args[1] {
			return
		}
		if time.Now().After(until) {
			ts.Fatalf("the run is %s: %+v", c.State, c.Reasons)
		}
	}
}

func socketsAre(ts *testscript.TestScript, args []string) {
	found, err := filepath.Glob(filepath.Join(ts.Getenv("TMPDIR"), elsewhereName+"*", "*"))
	ts.Check(err)
	if len(args) == 0 || strconv.Itoa(len(found)) != args[0] {
		ts.Fatalf("there are %q, want %v", found, args)
	}
	for i, name := range found {
		for _, of := range []struct{ name, mode string }{{name, args[1]}, {filepath.Dir(name), args[2]}} {
			info, err := os.Stat(of.name)
			ts.Check(err)
			if got := strconv.FormatInt(int64(info.Mode().Perm()), 8); got != of.mode {
				ts.Fatalf("%d: %s has mode %s, want %s", i, of.name, got, of.mode)
			}
		}
	}
}
