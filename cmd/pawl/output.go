package main

import (
	"errors"
	"fmt"
	"io"
)

// output is the standard output. It remembers that it could not be written, so
// that no command needs to look at each line of its result.
type output struct {
	io.Writer
	err error // the first
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// lost is how a command ended that may have lost its result. An error that says
// more than how a run stands is the command's own.
func (o *output) lost(err error) error {
	if o.err == nil || err != nil && !is[exitStatus](err) && !errors.Is(err, o.err) {
		return err
	}
	return &problem{
		Code: "no_output", Message: fmt.Sprintf("the result cannot be written: %v", o.err),
		Hint: "what the command did stays done: pawl runs and pawl show say how each run stands", Status: statusFailed,
	}
}
