package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// ChildVariable is the environment variable by which a program finds that it
// has been started again as a child by the default of [Config.Child]; its value
// is the row's directory.
const ChildVariable = "PAWL_CRASHTEST_CHILD"

// Config says what to crash.
type Config struct {
	// Workflow is the workflow's directory, with its modules built. Required.
	Workflow string
	// Input is the input of every run. Required.
	Input json.RawMessage
	// Receivers starts fresh receivers for one run. dir is a directory for that
	// run alone. Defaults to none: then H2, H3 and the ledgers are left out.
	Receivers func(ctx context.Context, dir string) (Receivers, error)
	// Stale says that the receivers are not fresh for each run, so that two runs
	// may be answered differently: then outputs are not compared.
	Stale bool
	// Child returns the command of a process that calls [Child] with tools that
	// reach these receivers; it is started several times per row. Its standard
	// input and output belong to this package. Defaults to this program again
	// with [ChildVariable] set to dir.
	Child func(dir string, r Receivers) (*exec.Cmd, error)
	// Points are the points to crash at. Defaults to all.
	Points []Point
	// Modes are what the receivers are told to do wrong, once with each write of
	// the run, in rows without a kill; the receivers must be [Faulty]. Defaults to
	// none.
	Modes []Mode
	// Parallel is how many rows are under way at once. Defaults to 2.
	Parallel int
	// Dir is where stores and ledgers go; they stay there. Defaults to a
	// temporary directory that is removed.
	Dir string
	// Timeout bounds each process of a row. Defaults to 1 min.
	Timeout time.Duration
	// Begin is told the number of rows once the clean run has ended, Progress
	// of every row when it has been judged. They are called one at a time.
	// Default to nothing.
	Begin    func(rows int)
	Progress func(*Row)
}

func (c *Config) withDefaults() (Config, error) {
	if c == nil || c.Workflow == "" {
		return Config{}, errors.New("crashtest: Config.Workflow names no directory")
	}
	d := *c
	if !json.Valid(d.Input) {
		return Config{}, errors.New("crashtest: Config.Input is not JSON")
	}
	if d.Child == nil {
		d.Child = again
	}
	if d.Parallel <= 0 {
		d.Parallel = 2
	}
	if d.Timeout <= 0 {
		d.Timeout = time.Minute
	}
	if d.Begin == nil {
		d.Begin = func(int) {}
	}
	if d.Progress == nil {
		d.Progress = func(*Row) {}
	}
	return d, nil
}

// again starts this program once more.
func again(dir string, _ Receivers) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("crashtest: this program cannot be started again: %w", err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), ChildVariable+"="+dir)
	return cmd, nil
}
