package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// Logging keys.
const (
	keyError     = "error"
	keyPath      = "path"
	keyMethod    = "method"
	keyRun       = "run"
	keyPrincipal = "principal"
)

// problem is an error as people and programs are told of it (RFC 9457). The
// type about:blank means that the title is the status's; what tells errors apart
// is the code.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail is a sentence about this very error.
	Detail string `json:"detail"`
	Code   string `json:"code"`
	// Hint says what to do next.
	Hint        string            `json:"hint"`
	Run         string            `json:"run,omitempty"`
	Differences []pawl.Difference `json:"differences,omitempty"` // of an incompatible run
	Errors      []inputProblem    `json:"errors,omitempty"`      // of an invalid input or request
}

// inputProblem is one place of a request that is wrong.
type inputProblem struct {
	Pointer string `json:"pointer"` // a JSON Pointer into the request's body
	Message string `json:"message"`
}

// problemOf tells of an error.
func (s *server) problemOf(err error) *problem {
	code := codeOf(err)
	p := &problem{Type: "about:blank", Status: statusOf(code), Code: code, Hint: hintOf(code), Detail: detail(err)}
	p.Title = http.StatusText(p.Status)
	if said := unsaid(code); said != "" {
		p.Detail = said
	}
	var step *pawl.StepError
	if errors.As(err, &step) {
		p.Run = step.Run
		if step.Hint != "" {
			p.Hint = step.Hint
		}
	}
	var incompatible *pawl.IncompatibleError
	if errors.As(err, &incompatible) {
		p.Run, p.Differences = incompatible.Run, incompatible.Differences
	}
	var input *pawl.InputError
	if errors.As(err, &input) {
		for _, at := range input.Problems {
			p.Errors = append(p.Errors, inputProblem{"/input" + at.Pointer, at.Message})
		}
		if len(p.Errors) == 0 {
			p.Errors = append(p.Errors, inputProblem{"/input", input.Err.Error()})
		}
	}
	var field *fieldError
	if errors.As(err, &field) {
		p.Errors = append(p.Errors, inputProblem{field.pointer, field.message})
	}
	return p
}

// unsaid is what is told instead of an error whose own words are for the log
// alone: they name folders and files of the server, or say nothing to anybody
// else. Empty for the others.
func unsaid(code string) string {
	switch code {
	case "internal":
		return "something is wrong inside the server"
	case "no_space":
		return "the disk of the data directory is too full; nothing was written"
	case "store_locked":
		return "another process has the data directory"
	case "store_broken", "store_unavailable":
		return "the store has failed, and is opened anew"
	}
	return ""
}

// detail is the error's text without the package's name.
func detail(err error) string {
	var echoed *echo.HTTPError
	if errors.As(err, &echoed) {
		return strings.ToLower(fmt.Sprint(echoed.Message))
	}
	return strings.ReplaceAll(strings.TrimPrefix(err.Error(), "pawl: "), ": pawl: ", ": ")
}

// fieldError is an error of one field of a request.
type fieldError struct{ pointer, message string }

func (e *fieldError) Error() string { return fmt.Sprintf("%s: %s", e.pointer, e.message) }

func (e *fieldError) Unwrap() error { return pawl.ErrInvalidInput }

// failed answers a request with its error: a problem document to programs, a
// page to people. It is what the handlers return their errors to.
func (s *server) failed(err error, c echo.Context) {
	p := s.problemOf(err)
	if p.Status >= http.StatusInternalServerError {
		s.opts.Logger.Error("request failed", keyMethod, c.Request().Method, keyPath, c.Request().URL.Path, keyError, err)
	}
	if c.Response().Committed {
		return // a stream, or an answer that broke off: there is nobody to tell
	}
	if p.Status == http.StatusServiceUnavailable {
		c.Response().Header().Set(echo.HeaderRetryAfter, "5")
	}
	if isAPI(c) {
		err = writeProblem(c, p)
	} else {
		err = s.errorPage(c, p)
	}
	if err != nil {
		s.opts.Logger.Debug("answer not written", keyPath, c.Request().URL.Path, keyError, err)
	}
}

// isAPI reports whether the request is a program's.
func isAPI(c echo.Context) bool {
	path := c.Request().URL.Path
	return path == "/api" || strings.HasPrefix(path, "/api/")
}

func writeProblem(c echo.Context, p *problem) error {
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return c.Blob(p.Status, "application/problem+json", body)
}
