package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

// A WASI command is a program: it reads its input on stdin, writes its output
// on stdout, and leaves with a status. It has no way to call.

// runCommand executes the command and takes over its output. The error is
// wazero's; what the guest did wrong is in in.stop.
func (in *instance) runCommand(ctx context.Context, start api.Function) error {
	_, err := start.Call(ctx)
	if exit := new(sys.ExitError); errors.As(err, &exit) && exit.ExitCode() == 0 && in.stop == nil {
		err = nil // as good as a return
	}
	if err != nil {
		return err
	}
	output := bytes.TrimSpace(in.stdout)
	switch {
	case len(output) == 0:
		in.stop = &Trap{TrapNoOutput, "it left with status 0 and wrote nothing on stdout; a command's output goes there, as JSON"}
	case !json.Valid(output):
		in.stop = &Trap{TrapBadOutput, "what it wrote on stdout is not JSON"}
	default:
		in.output = output
	}
	return nil
}

// collect takes what a command writes on stdout.
func (in *instance) collect(p []byte) error {
	if len(in.stdout)+len(p) > MaxPayload {
		return &Trap{TrapTooLarge, fmt.Sprintf("stdout of more than %d bytes", MaxPayload)}
	}
	in.stdout = append(in.stdout, p...)
	return nil
}
