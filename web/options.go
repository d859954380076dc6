package web

import (
	"log/slog"
	"net/http"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// Options of [Handler]. Nil works, and so does every zero value.
type Options struct {
	// Authorize says who a request comes from; its error is answered with 403 and
	// is logged and not shown. To ask for a login (401, or a page of its own) is the
	// work of a handler around this one. Defaults to letting in whoever is on
	// this machine and names it by a loopback host, and refusing all others.
	Authorize func(*http.Request) (pawl.Principal, error)
	// Name is what the panel calls this engine, such as a host's name. Defaults
	// to the host that the request names.
	Name string
	// Logger gets one line for each start and each recovery let go (the engine
	// logs other acts), and for each request that was not authorized or failed
	// for the server's sake. Defaults to discarding.
	Logger *slog.Logger
}
