package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

//go:embed templates
var templateFiles embed.FS

// The names of the pages, which are those of their templates.
const (
	pageRuns      = "runs"
	pageRun       = "run"
	pageWorkflows = "workflows"
	pageStart     = "start"
	pageHealth    = "health"
	pageProblem   = "problem"
)

// templates are the pages, each with the layout around it.
type templates map[string]*template.Template

// readTemplates reads the templates, which are part of the program: that they
// are right is shown by any test that shows a page.
func readTemplates() templates {
	shared := template.Must(template.New("").Funcs(template.FuncMap{"call": callPart, "fold": foldPart}).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html", "templates/call.html"))
	t := templates{}
	for _, name := range []string{pageRuns, pageRun, pageWorkflows, pageStart, pageHealth, pageProblem} {
		t[name] = template.Must(template.Must(shared.Clone()).ParseFS(templateFiles, "templates/"+name+".html"))
	}
	return t
}

// callPart and foldPart are what the templates of those names show.
func callPart(root string, c callView) any {
	return struct {
		Root string
		Call callView
	}{root, c}
}

func foldPart(root, id, title string, b *bodyView) any {
	return struct {
		Root, ID, Title string
		Body            *bodyView
	}{root, id + "-" + strings.ReplaceAll(title, " ", "-"), strings.ToUpper(title[:1]) + title[1:], b}
}

// page is what the layout shows.
type page struct {
	Title  string
	Engine string // the name of the engine
	User   string
	Root   string // leads to the root of the panel, as all links do
	Nav    []navView
	CSRF   string
	// Self is where the page is got again and Events is where it hears that it
	// has changed, both relative to the root; empty for a page that stays as it
	// is.
	Self, Events string
	Live         bool
	Notice       *notice
	Body         any

	// typed is set for a page with fields that hold what a person typed, which
	// has to come back as it is.
	typed bool
}

type navView struct {
	Text, Link string
	Current    bool
}

// notice tells what became of what the person has just done.
type notice struct {
	Title, Text string
	Tone        string
}

// newPage makes the page that is asked for.
func (s *server) newPage(c echo.Context, current, title string, body any) *page {
	p := &page{
		Title: title, Engine: s.opts.Name, User: principal(c).Name, Root: root(c), Nav: navOf(current), CSRF: s.csrf(c), Body: body,
	}
	if p.Engine == "" {
		p.Engine = c.Request().Host
	}
	return p
}

func navOf(current string) []navView {
	return []navView{
		{"Runs", "", current == pageRuns}, {"Workflows", "workflows", current == pageWorkflows}, {"Health", "health", current == pageHealth},
	}
}

// live lets the page follow what happens.
func (p *page) live(self, events string) *page {
	p.Self, p.Events, p.Live = self, events, true
	return p
}

// render writes a page, or nothing of it if it cannot be made.
func (s *server) render(c echo.Context, status int, name string, p *page) error {
	html, err := s.templates.html(name, p)
	if err != nil {
		return err
	}
	return c.HTMLBlob(status, html)
}

func (t templates) html(name string, p *page) ([]byte, error) {
	var b bytes.Buffer
	if err := t[name].ExecuteTemplate(&b, "layout", p); err != nil {
		return nil, fmt.Errorf("page %s: %w", name, err)
	}
	if p.typed {
		return b.Bytes(), nil
	}
	return []byte(visible(b.String())), nil // whatever a view has forgotten
}

// see sends the browser to another page of the panel after a form was posted.
// The address stays relative: where the panel is mounted is not known here.
func see(c echo.Context, path string) error {
	c.Response().Header().Set(echo.HeaderLocation, root(c)+strings.TrimPrefix(path, "./"))
	return c.NoContent(http.StatusSeeOther)
}
