package web

import "github.com/labstack/echo/v4"

// errorPage tells a person of a problem.
func (s *server) errorPage(c echo.Context, p *problem) error {
	return c.String(p.Status, p.Title+"\n"+p.Detail+"\n"+p.Hint+"\n") // TODO: a page
}
