package web

import "github.com/labstack/echo/v4"

// api are the routes of the JSON API.
func (s *server) api(*echo.Group) {}
