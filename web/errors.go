package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// Errors of requests that HTTP alone knows.
var (
	errRequest   = errors.New("this request cannot be understood")
	errMediaType = errors.New("unsupported media type")
	errBody      = errors.New("the request is too large")
	errNoPage    = errors.New("there is nothing at this address")
)

// codeOf is the code of an error: that of the engine, or of the request.
func codeOf(err error) string {
	if code := pawl.CodeOf(err); code != "" {
		return code
	}
	for _, known := range []struct {
		err  error
		code string
	}{
		{errRequest, "invalid_request"},
		{errMediaType, "unsupported_media_type"},
		{errBody, "body_too_large"},
		{errNoPage, "not_found"},
		{echo.ErrNotFound, "not_found"},
		{echo.ErrMethodNotAllowed, "method_not_allowed"},
		{errNotLocal, "denied"},
		{errDenied, "denied"},
		{errForeign, "cross_origin"},
		{errOldForm, "form_expired"},
		{errAction, "unknown_action"},
		{context.Canceled, "closed"}, // the server stops, or nobody waits for the answer
		{context.DeadlineExceeded, "closed"},
	} {
		if errors.Is(err, known.err) {
			return known.code
		}
	}
	return "internal"
}

// statusOf is the HTTP status of an error by its code.
func statusOf(code string) int {
	switch code {
	case "invalid_request":
		return http.StatusBadRequest
	case "denied", "cross_origin", "form_expired":
		return http.StatusForbidden
	case "not_found":
		return http.StatusNotFound
	case "method_not_allowed":
		return http.StatusMethodNotAllowed
	case "body_too_large":
		return http.StatusRequestEntityTooLarge
	case "unsupported_media_type":
		return http.StatusUnsupportedMediaType
	case "invalid_input", "too_large", "unknown_action":
		return http.StatusUnprocessableEntity
	case "store_locked", "store_broken", "no_space", "store_unavailable", "closed":
		return http.StatusServiceUnavailable
	case "corrupt", "undecodable", "internal":
		return http.StatusInternalServerError
	}
	return http.StatusConflict // how the run, or the store, stands forbids it
}

// hintOf says what to do next, by the code of an error; empty where only the
// error itself can say.
func hintOf(code string) string {
	switch code {
	case "not_found":
		return "The list of runs has all that there are."
	case "denied":
		return "Log in where the program that has this panel asks for it. If it has no logins, open the panel by a loopback address on the machine it runs on; with Options.Authorize a program lets others in."
	case "cross_origin":
		return "Open the panel itself and repeat it there."
	case "form_expired":
		return "Load the page again, look at what it says now, and repeat."
	case "method_not_allowed":
		return "The header Allow names the methods of this address."
	case "unsupported_media_type":
		return "Send it as the message says."
	case "invalid_request", "invalid_input":
		return "Mend what was sent; nothing was stored."
	case "body_too_large", "too_large":
		return "Make it smaller; nothing was stored."
	case "unknown_action":
		return "The run's document lists the actions that are possible now."
	case "stale":
		return "Look at how the run stands now, then decide again. Nothing was done."
	case "already_running":
		return "It goes on by itself; nothing needs to be done."
	case "input_conflict":
		return "Give another id for this input, or the same input and workflow to go on with that run."
	case "incompatible":
		return "The run goes on only with the contracts it was begun with: put them back, or start a new run under another id. Nothing was executed."
	case "held":
		return "The store is held: runs can be looked at and none is executed. Go on with the directory that this one was copied from."
	case "fenced":
		return "Another engine goes on with the run; its page says how it stands."
	case "needs_decision", "outcome_unknown":
		return "The run's page says what is not known and what each choice would do."
	case "deterministic":
		return "Mend the code and move the run to it (pawl resume RUN DIR --upgrade), or start a new run with another input."
	case "budget_spent", "failed":
		return "Look at the run's last error."
	case "interrupted":
		return "Resume the run."
	case "no_space":
		return "Make space on the disk of the data directory; the engine goes on by itself."
	case "store_locked", "store_broken", "store_unavailable", "closed":
		return "Try again in a moment; if it stays so, the health page and the server's log say why. What was begun goes on from what is durable."
	case "corrupt", "undecodable":
		return "Keep the data directory as it is and restore it from a copy; other runs can be read."
	}
	return "This should not happen. The server's log says more."
}
