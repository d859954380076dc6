package browsertest

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The panel inside another program, under that program's prefix.
// Seen red with links from the server's root.
func TestPanelWorksUnderAPrefix(t *testing.T) {
	t.Parallel()
	browser.needed(t)
	origin := embed(t)
	resp, err := http.Post(origin+"/orders", "application/json", strings.NewReader(`{"id":"A1","item":"teapot","cents":2380}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	p := person(t, origin).tab()
	p.open("/ops/pawl/")
	p.shows("main", "Order A1")
	p.goes(`main a[href*="runs/0"]`)
	p.shows("main", "books.enter")
	p.shows("main", "completed")
	p.goes(`nav a[href$="workflows"]`)
	p.goes(`a[href$="workflows/shop/start"]`)
	p.fill(`[name="in/id"]`, "A2")
	p.fill(`[name="in/item"]`, "cup")
	p.fill(`[name="in/cents"]`, "300")
	p.goes(`form[action$="/start"] button`)
	p.shows("main", "completed")
	p.goes(`nav a[href$="health"]`)
	for _, path := range []string{p.location(), eval[string](p, "document.styleSheets[0].href")} {
		if !strings.HasPrefix(path, origin+"/ops/pawl/") {
			t.Errorf("%s is not under the prefix", path)
		}
	}
}

// embed starts the example and returns where it is.
func embed(t *testing.T) (origin string) {
	t.Helper()
	cmd := exec.Command(built.in(t, "embed"), "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--workflow", filepath.Join("..", "..", "examples", "embed"))
	cmd.Env = append(os.Environ(), "PAWL_CACHE="+built.in(t, "cache"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("stopped in good order, the example ended with: %v", err)
		}
	})
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return "http://" + strings.TrimSpace(strings.TrimPrefix(line, "listening "))
}
