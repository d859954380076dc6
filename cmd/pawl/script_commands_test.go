package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// commands are those of the scripts beside testscript's own.
func commands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	s := &outside{running: map[*testscript.TestScript]*services{}}
	all := map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"refund":   func(ts *testscript.TestScript, _ bool, _ []string) { s.refund(ts) },
		"services": func(ts *testscript.TestScript, _ bool, _ []string) { s.start(ts) },
		"fault":    func(ts *testscript.TestScript, _ bool, args []string) { s.of(ts).fault(ts, args) },
		"held":     func(ts *testscript.TestScript, _ bool, args []string) { s.of(ts).held(ts, args) },
		"ledger":   func(ts *testscript.TestScript, _ bool, args []string) { s.of(ts).ledger(ts, args) },
		"waitfor":  func(ts *testscript.TestScript, _ bool, args []string) { s.of(ts).waitFor(ts, args) },
		"signal":   func(ts *testscript.TestScript, _ bool, args []string) { s.of(ts).signal(ts) },
		"exited":   func(ts *testscript.TestScript, _ bool, args []string) { s.of(ts).exited(ts, args) },
		"liar":     liar,
		"gossip":   gossip, "secretless": secretless,
		"wellxml": wellXML,
		"status":  statusIs,
		"steady":  steady,
		"edit":    edit,
		"module":  module,
		"nogo":    noGo,
	}
	maps.Copy(all, serverCommands())
	return all
}

// outside is the world of each script.
type outside struct {
	mu      sync.Mutex // guards running
	running map[*testscript.TestScript]*services
}

// services is a process of the services.
type services struct {
	addr string
	says chan string
	// signalled is the process that the command signal was about.
	signalled *exec.Cmd
}

func (o *outside) of(ts *testscript.TestScript) *services {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.running[ts]
	if s == nil {
		ts.Fatalf("no services; put the command services before")
	}
	return s
}

// refund puts the workflow into the folder refund, as it is shipped: built, and
// without sources.
func (o *outside) refund(ts *testscript.TestScript) {
	from, to := ts.Getenv("BUILT"), ts.MkAbs("refund")
	for _, folder := range []string{"schema", "tickets"} {
		ts.Check(os.CopyFS(filepath.Join(to, folder), os.DirFS(filepath.Join(from, folder))))
	}
	for _, name := range []string{"workflow.toml", "tools.toml", "fakes.toml", "refund.wasm"} {
		ts.Check(copyFile(filepath.Join(from, name), filepath.Join(to, name)))
	}
}

// start starts the services and leads the tools of the folder refund there.
// They end with the script.
func (o *outside) start(ts *testscript.TestScript) {
	cmd := exec.Command(ts.Getenv("SERVICES_PROGRAM"), "--listen", "127.0.0.1:0", "--until-eof", "--ledger", ts.MkAbs("ledger"))
	stdin, err := cmd.StdinPipe()
	ts.Check(err)
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	s := &services{says: make(chan string, 100)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(s.says)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			s.says <- lines.Text()
		}
	}()
	ts.Defer(func() {
		_ = stdin.Close()
		<-ended
		_ = cmd.Wait()
	})
	addr, ok := strings.CutPrefix(<-s.says, "listening ")
	if !ok {
		ts.Fatalf("the services did not start")
	}
	s.addr = addr
	o.mu.Lock()
	o.running[ts] = s
	o.mu.Unlock()
	ts.Setenv("SERVICES", addr)
	file := ts.MkAbs("refund/tools.toml")
	tools, err := os.ReadFile(file)
	ts.Check(err)
	ts.Check(os.WriteFile(file, bytes.ReplaceAll(tools, []byte("127.0.0.1:7730"), []byte(addr)), 0o600))
}

// fault TOOL MODE [TIMES] makes a service do something wrong.
func (s *services) fault(ts *testscript.TestScript, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: fault TOOL MODE [TIMES]")
	}
	body := map[string]any{"tool": args[0], "mode": args[1]}
	if len(args) > 2 {
		times, err := strconv.Atoi(args[2])
		ts.Check(err)
		body["times"] = times
	}
	text, err := json.Marshal(body)
	ts.Check(err)
	answer, err := http.Post("http://"+s.addr+"/_control", "application/json", bytes.NewReader(text))
	ts.Check(err)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent {
		said, _ := io.ReadAll(answer.Body) // for the message only
		ts.Fatalf("%s: %s", answer.Status, said)
	}
}

// held TOOL before|after waits until a request is held.
func (s *services) held(ts *testscript.TestScript, args []string) {
	want := "held " + strings.Join(args, " ") + " "
	tooLate := time.After(time.Minute)
	for {
		select {
		case line, ok := <-s.says:
			if !ok {
				ts.Fatalf("the services ended before a request was held")
			}
			if strings.HasPrefix(line, want) {
				return
			}
		case <-tooLate:
			ts.Fatalf("no request came that could be held")
		}
	}
}

// ledger effect|request TOOL N checks how many lines the ledgers have.
func (s *services) ledger(ts *testscript.TestScript, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: ledger effect|request TOOL N")
	}
	if n := s.count(ts, args[0], args[1]); strconv.Itoa(n) != args[2] {
		ts.Fatalf("the ledger has %d lines %s %s, want %s", n, args[0], args[1], args[2])
	}
}

// count counts lines of the ledgers.
func (s *services) count(ts *testscript.TestScript, kind, tool string) (n int) {
	answer, err := http.Get("http://" + s.addr + "/_ledger")
	ts.Check(err)
	defer answer.Body.Close()
	var lines []struct{ Kind, Tool string }
	ts.Check(json.NewDecoder(answer.Body).Decode(&lines))
	for _, line := range lines {
		if line.Kind == kind && line.Tool == tool {
			n++
		}
	}
	return n
}

// waitFor is the command `waitfor TOOL N`: until that many requests have come.
func (s *services) waitFor(ts *testscript.TestScript, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: waitfor TOOL N")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	for until := time.Now().Add(time.Minute); s.count(ts, "request", args[0]) < want; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			ts.Fatalf("only %d requests %s came", s.count(ts, "request", args[0]), args[0])
		}
	}
}

// signal sends SIGINT to the last background process.
func (s *services) signal(ts *testscript.TestScript) {
	running := ts.BackgroundCmds()
	if len(running) == 0 {
		ts.Fatalf("nothing runs in the background")
	}
	s.signalled = running[len(running)-1]
	ts.Check(s.signalled.Process.Signal(os.Interrupt))
}

// exited is the command `exited N`, to be used after wait: the process that got
// the signal ended with that status.
func (s *services) exited(ts *testscript.TestScript, args []string) {
	if got := s.signalled.ProcessState.ExitCode(); len(args) != 1 || strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %v", got, args)
	}
}

// module makes the working directory a module that uses this one.
func module(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(os.WriteFile(ts.MkAbs("go.mod"), goMod(ts.Getenv("ROOT")), 0o600))
}

// noGo takes the go command off the PATH.
func noGo(ts *testscript.TestScript, _ bool, _ []string) {
	var without []string
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if !exists(filepath.Join(dir, "go")) {
			without = append(without, dir)
		}
	}
	ts.Setenv("PATH", strings.Join(without, string(filepath.ListSeparator)))
}

// statusIs is the command `status N PROGRAM ARGS...`: the program ends with that
// exit status.
func statusIs(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: status N PROGRAM ARGS...")
	}
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s\n%s%s", got, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// What differs from run to run.
var unsteady = []struct {
	what *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`), "TIME"},
	{regexp.MustCompile(`\d\d:\d\d:\d\d`), "TIME"},
	{regexp.MustCompile(` +\d+(\.\d+)? (ms|s)\b`), " N ms"},
	{regexp.MustCompile(`\b\d+(\.\d+)?m?s of`), "N ms of"},
	{regexp.MustCompile(`[0-9A-HJKMNP-TV-Z]{26}`), "ID"},
	{regexp.MustCompile(`sha256:[0-9a-f]+`), "sha256:HEX"},
	{regexp.MustCompile(`(?m)  \d+[smhd]( |$)`), "  AGE$1"},
}

// steady FILE OUT copies a file, with what differs from run to run replaced.
func steady(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: steady FILE OUT")
	}
	text := ts.ReadFile(args[0])
	for _, u := range unsteady {
		text = u.what.ReplaceAllString(text, u.to)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}

// edit FILE OLD NEW [OLD NEW...] replaces text in a file; each must be there.
func edit(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 || len(args)%2 == 0 {
		ts.Fatalf("usage: edit FILE OLD NEW [OLD NEW...]")
	}
	text := ts.ReadFile(args[0])
	for pair := range slices.Chunk(args[1:], 2) {
		if !strings.Contains(text, pair[0]) {
			ts.Fatalf("%s has no %q", args[0], pair[0])
		}
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
