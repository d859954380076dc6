package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

const (
	// heartbeat is how often a stream says that it is alive: less than what
	// proxies and browsers wait for.
	heartbeat = 15 * time.Second
	// eventTime is how long an event may take to be written: a reader that takes
	// longer is gone.
	eventTime = 10 * time.Second
)

// stream is an answer of server-sent events.
type stream struct {
	c       echo.Context
	control *http.ResponseController
}

// openStream begins one. It fails if the answer cannot be written in parts.
func openStream(c echo.Context) (*stream, error) {
	s := &stream{c, http.NewResponseController(c.Response())}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx would keep events back
	c.Response().WriteHeader(http.StatusOK)
	if c.Request().Method == http.MethodHead {
		return s, nil
	}
	return s, s.comment("open")
}

// send writes an event; without an id that of the one before stays. The data
// has to be one line, as JSON is.
func (s *stream) send(name, id string, data []byte) error {
	var b strings.Builder
	if id != "" {
		fmt.Fprintf(&b, "id: %s\n", id)
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, data)
	return s.write(b.String())
}

// comment writes what readers skip.
func (s *stream) comment(text string) error { return s.write(": " + text + "\n\n") }

func (s *stream) write(text string) error {
	// A server whose answers cannot have a deadline writes without one.
	_ = s.control.SetWriteDeadline(time.Now().Add(eventTime))
	if _, err := s.c.Response().Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}
