package web

import (
	"errors"
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

// openStream begins one.
func openStream(c echo.Context) (*stream, error) {
	s := &stream{c, http.NewResponseController(c.Response())}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "text/event-stream")
	h.Set("X-Accel-Buffering", "no")           // nginx would keep events back
	_ = s.control.SetReadDeadline(time.Time{}) // the server's would end the stream
	c.Response().WriteHeader(http.StatusOK)
	return s, s.comment("open")
}

// follow streams until the client goes or the request's context ends: tell is
// called at once and after changes, at most once each pause.
func follow(c echo.Context, changed <-chan struct{}, pause time.Duration, tell func(*stream) error) error {
	if c.Request().Method == http.MethodHead {
		c.Response().Header().Set(echo.HeaderContentType, "text/event-stream")
		return c.NoContent(http.StatusOK)
	}
	st, err := openStream(c)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for err == nil {
		if err = tell(st); err == nil {
			err = until(st, beat.C, time.After(pause)) // changes wait meanwhile
		}
		if err == nil {
			err = until(st, beat.C, changed)
		}
	}
	if errors.Is(err, errGone) {
		return nil
	}
	return err
}

// errGone ends a stream whose reader is gone, or whose server stops.
var errGone = errors.New("the reader is gone")

// until waits for something, and says meanwhile that the stream is alive.
func until[T any](s *stream, beat <-chan time.Time, something <-chan T) error {
	for {
		select {
		case <-something:
			return nil
		case <-beat:
			if err := s.comment("alive"); err != nil {
				return err
			}
		case <-s.c.Request().Context().Done():
			return errGone
		}
	}
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
	// A server whose answers cannot have a deadline writes without one. It goes
	// with the write: HTTP/2 ends a stream whose deadline passes while it rests.
	_ = s.control.SetWriteDeadline(time.Now().Add(eventTime))
	defer func() { _ = s.control.SetWriteDeadline(time.Time{}) }()
	_, err := s.c.Response().Write([]byte(text))
	if err == nil {
		err = s.control.Flush()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return nil
}
