package web

import "github.com/labstack/echo/v4"

// pages are the routes of the panel.
func (s *server) pages(*echo.Group) {}
