package web

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// policy is the one content security policy: nothing but what this handler
// serves, and no script or style inside a page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// answerTime is how long an answer may take to be written, where the program's
// http.Server does not say.
const answerTime = time.Minute

// safe gives every answer the headers that keep hostile text from being more
// than text, and makes a problem of a panic.
func (s *server) safe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // with no-referrer a form's Origin would be null
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if server, ok := c.Request().Context().Value(http.ServerContextKey).(*http.Server); ok && server.WriteTimeout == 0 {
			_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(answerTime))
		}
		defer func() {
			switch cause := recover(); cause {
			case nil:
			case http.ErrAbortHandler:
				panic(cause)
			default:
				err = &panicError{cause: cause, stack: debug.Stack()}
			}
		}()
		return next(c)
	}
}

// panicError is a bug of ours; its text is for the log alone.
type panicError struct {
	cause any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.cause, e.stack) }

// Errors of the guard. What Authorize says is logged and not shown.
var (
	errNotLocal = errors.New("without logins the panel answers only requests of this machine that name it by a loopback host, such as 127.0.0.1 or localhost")
	errDenied   = errors.New("you are not allowed to use this panel")
)

const principalKey = "pawl.principal"

// guarded lets in whom Authorize does, and without it whoever is on this machine
// and calls it so: a page of another site can make a browser send requests here
// under that site's name, but not under ours.
func (s *server) guarded(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		who := pawl.Principal{Name: "local"}
		if s.opts.Authorize != nil {
			var err error
			if who, err = s.opts.Authorize(r); err != nil {
				s.opts.Logger.Info("request not authorized", keyPath, r.URL.Path, keyError, err)
				return errDenied
			}
		} else if !LoopbackHost(r.Host) || !loopbackPeer(r.RemoteAddr) {
			return errNotLocal
		}
		c.Set(principalKey, who)
		return next(c)
	}
}

// principal is who the request comes from.
func principal(c echo.Context) pawl.Principal {
	who, _ := c.Get(principalKey).(pawl.Principal)
	return who
}

// LoopbackHost reports whether a Host header names this machine whatever a name
// server says: a loopback address, localhost, or a name under it. It is what
// [Handler] asks without logins, for programs that answer other requests too.
func LoopbackHost(host string) bool {
	name := host
	if h, port, err := net.SplitHostPort(host); err == nil {
		if strings.Trim(port, "0123456789") != "" {
			return false
		}
		name = h
	} else if inner, ok := strings.CutPrefix(host, "["); ok { // IPv6 without a port
		if name, ok = strings.CutSuffix(inner, "]"); !ok {
			return false
		}
	}
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.IsLoopback() && addr.Zone() == ""
	}
	name = strings.ToLower(name)
	sub, ok := strings.CutSuffix("."+name, ".localhost")
	return ok && strings.Trim(sub, "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
}

// loopbackPeer reports whether a request comes from this machine. A peer without
// an address is one too: it came through a socket of the file system. One that
// cannot be understood is none: what stands before this handler may have put
// another address there, without a port.
func loopbackPeer(remote string) bool {
	if remote == "" || remote == "@" {
		return true
	}
	if peer, err := netip.ParseAddrPort(remote); err == nil {
		return peer.Addr().IsLoopback()
	}
	peer, err := netip.ParseAddr(remote)
	return err == nil && peer.IsLoopback()
}
