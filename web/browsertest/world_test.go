package browsertest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-dev/pawl/host/toolfile"
	"github.com/pawl-dev/pawl/runtime/crashtest/fakes"
)

// world is a server with the refund workflow, and the receivers that it calls.
type world struct {
	*server
	t         *testing.T
	receivers *fakes.Process
}

// refunds makes a world of its own. Pairs of texts are replaced in the
// workflow's file.
func refunds(t *testing.T, change ...string) *world {
	t.Helper()
	browser.needed(t)
	dir := t.TempDir()
	w := &world{t: t, receivers: receive(t, filepath.Join(dir, "ledger"))}
	w.server = serve(t, filepath.Join(dir, "data"), w.folder(dir, change...))
	return w
}

// receive starts the receivers of the refund example.
func receive(t *testing.T, ledger string) *fakes.Process {
	t.Helper()
	receivers, err := fakes.Start(t.Context(), built.in(t, "services"), ledger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := receivers.Close(); err != nil {
			t.Error(err)
		}
	})
	return receivers
}

// folder copies the refund workflow to a folder of dir.
func (w *world) folder(dir string, change ...string) string {
	w.t.Helper()
	folder := copied(w.t, dir, "refund")
	replace(w.t, filepath.Join(folder, toolfile.Name), "127.0.0.1:7730", w.receivers.Addr())
	replace(w.t, filepath.Join(folder, "workflow.toml"), change...)
	return folder
}

// copied copies a workflow that was built into a folder of dir.
func copied(t *testing.T, dir, workflow string) string {
	t.Helper()
	folder := filepath.Join(dir, workflow)
	if err := os.CopyFS(folder, os.DirFS(built.in(t, "workflows", workflow))); err != nil {
		t.Fatal(err)
	}
	return folder
}

// fault makes the receivers do something wrong for ever; "ok" ends that.
func (w *world) fault(tool, mode string) {
	w.t.Helper()
	if err := w.receivers.Set(w.t.Context(), fakes.Fault{Tool: tool, Mode: mode, Times: -1}); err != nil {
		w.t.Fatal(err)
	}
}

// effects counts what happened at the receivers, by tool.
func (w *world) effects() map[string]int { return w.count("effect") }

// requests counts what reached them.
func (w *world) requests() map[string]int { return w.count("request") }

func (w *world) count(kind string) map[string]int {
	w.t.Helper()
	lines, err := w.receivers.Ledger(context.WithoutCancel(w.t.Context()))
	if err != nil {
		w.t.Fatal(err)
	}
	n := map[string]int{}
	for _, l := range lines {
		if l.Kind == kind {
			n[l.Tool]++
		}
	}
	return n
}
