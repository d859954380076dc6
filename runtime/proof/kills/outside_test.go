package kills_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// outside is the test's handle on the receivers.
type outside struct {
	t      *testing.T
	addr   string
	client *http.Client
}

func startOutside(t *testing.T) *outside {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), receiversVariable+"="+filepath.Join(t.TempDir(), "ledger.jsonl"))
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	o := &outside{t: t, client: &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}}
	t.Cleanup(func() {
		o.client.CloseIdleConnections()
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the receivers: %v", err)
		}
	})
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	o.addr = strings.TrimSpace(addr)
	return o
}

func (o *outside) set(what string, n int) {
	o.t.Helper()
	o.do("POST", fmt.Sprintf("/control/%s/%d", what, n))
}

// lines are those of the ledger from a number on.
func (o *outside) lines(from int) (lines []line) {
	o.t.Helper()
	if err := json.Unmarshal(o.do("GET", fmt.Sprintf("/control/lines?from=%d", from)), &lines); err != nil {
		o.t.Fatal(err)
	}
	return lines
}

func (o *outside) do(method, path string) []byte {
	o.t.Helper()
	q, err := http.NewRequestWithContext(o.t.Context(), method, "http://"+o.addr+path, nil)
	if err != nil {
		o.t.Fatal(err)
	}
	resp, err := o.client.Do(q)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		o.t.Fatalf("%s %s: %s, %v: %s", method, path, resp.Status, err, text)
	}
	return text
}
