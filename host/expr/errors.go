package expr

import (
	"errors"
	"fmt"
)

// ErrTooExpensive is matched by an [EvalError] of an expression that would have
// cost more than any expression may, in time or in the size of its result.
var ErrTooExpensive = errors.New("expr: too expensive")

// CompileError says what is wrong with the text of an expression.
type CompileError struct {
	Source string
	// Line and Column, from 1, are a place in Source; Column counts characters.
	Line, Column int
	Message      string
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
}

// EvalError says why an expression has no value for the variables it was given.
type EvalError struct {
	Source string
	// Line and Column, from 1, are a place in Source; 0 if there is none.
	Line, Column int
	Message      string
	// Err is what the error matches, such as [ErrTooExpensive], or nil.
	Err error
}

func (e *EvalError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s (in %q)", e.Message, e.Source)
	}
	return fmt.Sprintf("%d:%d: %s (in %q)", e.Line, e.Column, e.Message, e.Source)
}

func (e *EvalError) Unwrap() error { return e.Err }

// DecodeError says why a text is not JSON that expressions can work on.
type DecodeError struct {
	// Offset is the place in bytes, from 0.
	Offset  int64
	Message string
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("at byte %d: %s", e.Offset, e.Message)
}
