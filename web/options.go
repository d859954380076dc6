package web

import (
	"log/slog"
	"net/http"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// Options of [Handler]. Nil works, and so does every zero value.
type Options struct {
	// Authorize says who a request comes from; its error is answered with 403 and
	// is not shown. Defaults to letting everybody in whose request names a
	// loopback host, and refusing all others.
	Authorize func(*http.Request) (pawl.Principal, error)
	// Name is what the panel calls this engine, such as a host's name. Defaults
	// to the host that the request names.
	Name string
	// Logger gets one line for each act, and each request that failed for the
	// server's sake. Defaults to discarding.
	Logger *slog.Logger
}
