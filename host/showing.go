package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/host/abi"
)

// ErrHanging is returned when a tool does not return from what needs no
// receiver.
var ErrHanging = errors.New("host: the tool does not return")

// Check asks a [Checker] whether the request can be sent; another tool takes
// everything. A tool that panics over a request, or does not return within its
// contract's timeout (DefaultTimeout if that is longer), cannot send it.
func Check(tool Tool, c *Call) error {
	checker, ok := tool.(Checker)
	if !ok {
		return nil
	}
	copied := *c
	return promptly(tool, func() error { return checker.Check(&copied) }, func(message string) error {
		return fmt.Errorf("host: %s over the request", message)
	}, func(err error) error { return err })
}

// Show returns the request as people approve it, and the hash of that with the
// tool's id. Of a tool that is no [Shower] it is one JSON object in the form of
// RFC 8785 with the tool, the type and the body, which stands there in base64 if
// it is not JSON. The error says why the tool cannot show it, if it is no body,
// or [ErrHanging].
func Show(tool Tool, c *Call) ([]byte, Hash, error) {
	text, err := show(tool, c)
	if err != nil {
		return nil, Hash{}, err
	}
	f := newFields(shownDomain)
	f.add([]byte(c.Tool))
	f.add(text)
	return text, f.sum(), nil
}

func show(tool Tool, c *Call) ([]byte, error) {
	shower, ok := tool.(Shower)
	if !ok {
		return showPlain(c)
	}
	type shown struct {
		text []byte
		err  error
	}
	copied := *c
	s := promptly(tool, func() (s shown) {
		s.text, s.err = shower.Show(&copied)
		return s
	}, func(message string) shown {
		return shown{err: fmt.Errorf("host: %s when it had to show its request", message)}
	}, func(err error) shown { return shown{err: err} })
	return s.text, s.err
}

func showPlain(c *Call) ([]byte, error) {
	plain := struct {
		Tool string `json:"tool"`
		Type string `json:"type"`
		Body any    `json:"body"`
	}{c.Tool, c.Type, c.Body}
	if c.Type == abi.TypeJSON {
		body, err := appendCanonical(nil, c.Body)
		if err != nil {
			return nil, err
		}
		plain.Body = json.RawMessage(body)
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return nil, fmt.Errorf("host: cannot show the request: %w", err)
	}
	return appendCanonical(nil, text)
}

// receiverOf names who receives the tool's calls; empty if it does not say.
func receiverOf(tool Tool) (name string) {
	receiving, ok := tool.(Receiving)
	if !ok {
		return ""
	}
	defer func() {
		if recover() != nil {
			name = "" // differs from every name: the careful side
		}
	}()
	return receiving.Receiver()
}

// promptly calls what a tool answers without its receiver, and gives up on it
// after the tool's timeout. Nothing else ends it, so one that is meant for a slow
// receiver does not count.
func promptly[T any](tool Tool, f func() T, broken func(message string) T, hanging func(error) T) T {
	result := apart(f, broken)
	timer := time.NewTimer(min(tool.Contract().WithDefaults().Timeout, DefaultTimeout))
	defer timer.Stop()
	select {
	case v := <-result:
		return v
	case <-timer.C:
		return hanging(ErrHanging)
	}
}
