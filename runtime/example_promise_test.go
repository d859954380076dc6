package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// A workflow of three steps: validate, lookup, draft. The model is down for
// longer than the tries of one attempt, and the process ends while the run
// waits for the next one. A fresh process goes on when the model is up: the
// steps that are done do not run again.
func ExampleRun_Resume() {
	inWorld(func(w *world) {
		w.refund(threeSteps)
		w.fault("llm.complete", "commit-hang", -1)
		w.start(w.read(example+"/tickets/t1.json"), func(k *task) { k.Longest = 0 }).end()
		held(w, w.document())

		w.fault("llm.complete", "ok", 0)
		out := w.op("resume", nil).end()
		_, gets := w.ledger("orders.get")
		fmt.Println("the orders ledger saw", gets, "GET")
		text, _ := json.Marshal(map[string]any{
			"resume_from":              out.Resumption.ResumeFrom,
			"repeated_completed_steps": out.Resumption.RepeatedCompletedSteps,
			"resumed_steps":            out.Resumption.ResumedSteps,
		})
		fmt.Println(string(text))
	})
	// Output:
	// waiting: draft, orders.hold has the key that the receiver saw: true
	// last error: call_deadline, temporary, llm.complete: no answer within 2s
	// the orders ledger saw 1 GET
	// {"repeated_completed_steps":false,"resume_from":"draft","resumed_steps":["validate","lookup","draft"]}
}

// held prints what the checkpoint holds while the run waits and no process has
// it.
func held(w *world, c *pawl.Checkpoint) {
	hold := c.Step("lookup").Calls[1]
	fmt.Printf("%s: %s, %s has the key that the receiver saw: %v\n", c.State, c.ResumeFrom, hold.Tool, w.keys("orders.hold")[hold.Key] == 1)
	fmt.Printf("last error: %s, %s, %s\n", c.LastError.Code, c.LastError.Kind, c.LastError.Message)
}

// threeSteps is the refund's manifest without its last step, and with a long
// wait between attempts.
func threeSteps(manifest string) string {
	manifest, _, _ = strings.Cut(manifest, "[[step]]\nname   = \"send\"")
	return strings.Replace(manifest, `backoff = "1s", max_backoff = "1m"`, `backoff = "1h", max_backoff = "1h"`, 1)
}

// inWorld runs f with a world outside of a test.
func inWorld(f func(*world)) {
	t := &exampleTB{}
	defer t.end()
	f(newWorld(t, ""))
}

// exampleTB stands for a test in an example: what fails panics.
type exampleTB struct {
	testing.TB
	cleanups []func()
}

func (t *exampleTB) Helper()                   {}
func (t *exampleTB) Context() context.Context  { return context.Background() }
func (t *exampleTB) Output() io.Writer         { return os.Stderr }
func (t *exampleTB) Cleanup(f func())          { t.cleanups = append(t.cleanups, f) }
func (t *exampleTB) Error(args ...any)         { panic(fmt.Sprint(args...)) }
func (t *exampleTB) Errorf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (t *exampleTB) Fatal(args ...any)         { panic(fmt.Sprint(args...)) }
func (t *exampleTB) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

func (t *exampleTB) TempDir() string {
	dir, err := os.MkdirTemp("", "pawl-example-")
	if err != nil {
		panic(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (t *exampleTB) end() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}
