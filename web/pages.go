package web

import (
	"embed"
	"net/http"

	"github.com/labstack/echo/v4"
)

//go:embed assets
var assetFiles embed.FS

// pages are the routes of the panel.
func (s *server) pages(g *echo.Group) {
	s.templates = readTemplates()
	s.get(g, "/", s.runsPage)
	s.get(g, "/runs/:run", s.runPage)
	s.get(g, "/runs/:run/body", s.runBody)
	s.form(g, "/runs/:run/resume", s.resumeForm)
	s.get(g, "/workflows", s.workflowsPage)
	s.get(g, "/workflows/:name/start", s.startPage)
	s.form(g, "/workflows/:name/start", s.startForm)
	s.get(g, "/health", s.healthPage)
	s.form(g, "/recover", s.recoverForm)
	s.get(g, "/assets/:file", s.asset)
}

// asset serves the style sheet, the script and the icon.
func (s *server) asset(c echo.Context) error {
	types := map[string]string{
		"style.css": "text/css; charset=utf-8", "live.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
	}
	name := c.Param("file")
	if types[name] == "" {
		return errNoPage
	}
	data, err := assetFiles.ReadFile("assets/" + name)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-cache")
	return c.Blob(http.StatusOK, types[name], data)
}

// errorPage tells a person of a problem.
func (s *server) errorPage(c echo.Context, p *problem) error {
	return s.render(c, p.Status, pageProblem, s.newPage(c, "", p.Title, newProblemView(p)))
}
