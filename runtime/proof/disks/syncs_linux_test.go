package disks_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each sync of a process fails with an input/output error, one in each process:
// those of opening, of the run's records, of Badger's own files, of closing. The
// process opens its store anew, or ends with an error; nothing was sent that is
// not recorded, and a process whose disk works goes on, each effect once.
//
// strace counts the syncs of each thread, so several may fail in one process.
//
// Seen red with calls that are sent before their intents are durable, and with
// tables in the manifest that Badger has taken back.
func TestEachSyncFails(t *testing.T) {
	t.Parallel()
	if !*syncs {
		t.Skip("-syncs is not given")
	}
	tracer, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("there is no strace")
	}
	failed, ended := 0, 0
	for n := 1; ; n++ {
		w := newWorld(t, filepath.Join(t.TempDir(), "store"))
		log := filepath.Join(t.TempDir(), "strace")
		runs := runsOf("sync", 2)
		p := w.spawnUnder([]string{
			tracer, "-f", "-q", "-o", log, "-e", "trace=fsync,fdatasync,msync",
			"-e", fmt.Sprintf("inject=fsync,fdatasync,msync:error=EIO:when=%d", n),
		}, 0, runs)
		if !p.over() {
			ended++
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "(INJECTED)") {
			break // there are no more
		}
		failed++
		when := fmt.Sprintf("sync %d", n)
		if len(w.receiver.keysNow()) > 0 { // else there may be no store
			w.judge(when, runs)
		}
		w.spawn(0, runs).end()
		w.once(runs)
		if t.Failed() {
			t.Fatalf("%s: %s", when, lineWith(string(text), "(INJECTED)"))
		}
	}
	t.Logf("%d processes with failed syncs, %d ended with an error", failed, ended)
	if failed < effectsOfRun {
		t.Error("too few failed syncs")
	}
}

// over waits for the end of a process that may have ended with an error, and
// reports whether it came to its end in good order.
func (p *process) over() bool {
	p.t.Helper()
	for {
		var t told
		if err := p.out.Decode(&t); err != nil {
			break
		}
		if t.What == "rest" {
			_ = p.in.Close()
		}
	}
	_, _ = io.Copy(io.Discard, p.out.Buffered())
	err := p.cmd.Wait()
	if err != nil && strings.Contains(p.stderr.String(), "panic: ") {
		p.t.Errorf("the process ended with %v\n%s", err, &p.stderr)
	}
	return err == nil
}

func lineWith(text, what string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, what) {
			return line
		}
	}
	return ""
}
