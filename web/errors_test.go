package web_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/web"
)

// Every code that the engine or a request can have is described, and has a
// status and something to do next of its own.
//
// Seen red with a code left out of the description, and with a hint left out.
func TestEveryCodeIsDescribed(t *testing.T) {
	t.Parallel()
	api, err := apiDocument()
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for _, code := range api.doc.Components.Schemas["Problem"].Value.Properties["code"].Value.Enum {
		described[code.(string)] = true
	}
	produced := map[string]bool{}
	for _, file := range []string{"errors.go", "../runtime/code.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range regexp.MustCompile(`(?m)^\t+\{[a-zA-Z.]+, "([a-z_]+)"\},`).FindAllStringSubmatch(string(source), -1) {
			produced[row[1]] = true
		}
	}
	if len(produced) < 28 {
		t.Fatalf("only %v", produced)
	}
	produced["internal"] = true
	for code := range produced {
		if !described[code] {
			t.Errorf("%s is not described", code)
		}
		if hint := web.HintOf(code); (hint == web.HintOf("no such code")) != (code == "internal") {
			t.Errorf("%s: no hint of its own: %q", code, hint)
		}
	}
	for code := range described {
		if !produced[code] {
			t.Errorf("%s is described, and nothing has it", code)
		}
	}
}

// failing is an engine whose store fails.
type failing struct {
	web.Engine
	err error
}

func (f failing) Workflows() ([]pawl.WorkflowDocument, error) { return nil, f.err }

// What a failed store says names folders and files of the server: that is for
// its log, and for nobody who asks it.
//
// Seen red with the error's own text as the detail.
func TestFailuresNameNoFiles(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const at = "/srv/secret-place/data"
	for code, err := range map[string]error{
		"no_space":          fmt.Errorf("%w: %s has 3 MiB left", kv.ErrNoSpace, at),
		"store_broken":      fmt.Errorf("%w: open %s/000001.mem: input/output error", kv.ErrStoreBroken, at),
		"store_unavailable": fmt.Errorf("%w: open %s: permission denied", pawl.ErrUnavailable, at),
		"store_locked":      &kv.LockedError{Dir: at, PID: 17},
		"internal":          fmt.Errorf("open %s: too many open files", at),
	} {
		var log bytes.Buffer
		s := serve(t, failing{f.engine, err}, &web.Options{Logger: textLogger(&log)})
		r := s.get("api/v1/workflows")
		if p := r.problem(t); p.Code != code || p.Status < 500 || p.Detail == "" {
			t.Errorf("%s: %s", code, r.body)
		}
		page := s.get("workflows").want(t, r.StatusCode)
		if body := string(r.body) + string(page.body); strings.Contains(body, "secret-place") {
			t.Errorf("%s: %s", code, body)
		}
		if !strings.Contains(log.String(), "secret-place") {
			t.Errorf("%s: nor does the log: %s", code, log.String())
		}
	}
}
