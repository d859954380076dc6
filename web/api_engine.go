package web

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

func (s *server) listWorkflows(c echo.Context) error {
	workflows, err := s.engine.Workflows()
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, map[string]any{"items": workflows})
}

func (s *server) showHealth(c echo.Context) error {
	return answer(c, http.StatusOK, s.engine.Health())
}

// letRecoveryGo lets a recovery go that was held back.
func (s *server) letRecoveryGo(c echo.Context, body []byte) error {
	if len(body) > 0 {
		if err := decode(body, &struct{}{}); err != nil {
			return err
		}
	}
	if err := s.recover(c); err != nil {
		return err
	}
	return answer(c, http.StatusOK, s.engine.Health())
}

// recover lets a recovery go for whoever asks.
func (s *server) recover(c echo.Context) error {
	if err := s.engine.Recover(c.Request().Context()); err != nil {
		return err
	}
	s.opts.Logger.Info("recovery let go", keyPrincipal, principal(c).Name)
	return nil
}

// runsPause is the least time between two events about all runs: open pages ask
// for their list anew after each.
const runsPause = time.Second

// followRuns streams that some run has changed. The first event comes at once,
// for what changed before the stream was open.
func (s *server) followRuns(c echo.Context) error {
	changed, stop := s.engine.Watch("")
	defer stop()
	return follow(c, changed, runsPause, func(st *stream) error {
		return st.send("changed", "", []byte("{}"))
	})
}
