package web_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// checkHTML says what is wrong with a page: what the content security policy
// would refuse, what people with other eyes than ours would miss, and what would
// not work under a prefix.
func checkHTML(page string) (wrong []string) {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return []string{err.Error()}
	}
	c := &htmlCheck{ids: map[string]bool{}, labelled: map[string]bool{}}
	if !strings.HasPrefix(page, "<!DOCTYPE html>") {
		c.wrong("no doctype")
	}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode {
			c.element(n)
		}
	}
	for _, id := range c.fields {
		if !c.labelled[id] {
			c.wrong("the field %q has no label", id)
		}
	}
	for _, id := range c.named {
		if !c.ids[id] {
			c.wrong("there is no element %q", id)
		}
	}
	if c.tops != 1 {
		c.wrong("%d headings of the first level", c.tops)
	}
	return c.found
}

type htmlCheck struct {
	found    []string
	ids      map[string]bool
	labelled map[string]bool
	fields   []string // ids of what needs a label
	named    []string // ids that something refers to
	heading  int      // the level of the last one
	tops     int
}

func (c *htmlCheck) wrong(format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf(format, args...))
}

func (c *htmlCheck) element(n *html.Node) {
	has := map[string]string{}
	for _, a := range n.Attr {
		has[a.Key] = a.Val
		if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
			c.wrong("<%s %s>", n.Data, a.Key)
		}
	}
	if id, there := has["id"]; there {
		if c.ids[id] || id == "" {
			c.wrong("the id %q is not the only one", id)
		}
		c.ids[id] = true
	}
	for _, name := range []string{"for", "aria-labelledby", "aria-describedby"} {
		c.named = append(c.named, strings.Fields(has[name])...)
	}
	for _, name := range []string{"href", "src", "action", "data-self", "data-events"} {
		if to, there := has[name]; there {
			c.link(n.Data, to)
		}
	}
	c.kind(n, has)
}

func (c *htmlCheck) kind(n *html.Node, has map[string]string) {
	switch n.Data {
	case "style", "iframe", "object", "embed", "base", "img":
		c.wrong("<%s>", n.Data)
	case "script":
		if has["src"] == "" || n.FirstChild != nil {
			c.wrong("a script within the page")
		}
	case "label":
		c.labelled[has["for"]] = true
	case "input", "select", "textarea":
		if has["type"] != "hidden" {
			c.fields = append(c.fields, has["id"])
		}
	case "form":
		if has["method"] == "post" && !strings.Contains(render(n), `name="csrf"`) {
			c.wrong("a form without its token")
		}
	case "button":
		if has["type"] == "" {
			c.wrong("a button without a type")
		}
	case "h1", "h2", "h3", "h4":
		level := int(n.Data[1] - '0')
		if level == 1 {
			c.tops++
		}
		if level > c.heading+1 {
			c.wrong("%s after h%d", n.Data, c.heading)
		}
		c.heading = level
	}
}

// link wants an address that stays within the panel wherever it is mounted.
func (c *htmlCheck) link(element, to string) {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || strings.HasPrefix(to, "/") {
		c.wrong("<%s> leads to %q", element, to)
	}
}

func render(n *html.Node) string {
	var b strings.Builder
	_ = html.Render(&b, n) // a builder does not fail
	return b.String()
}

// Every page is sound HTML that needs nothing but what the panel serves.
//
// Seen red with a style attribute, an inline script, a field without a label, an
// id that is there twice, a heading left out, and a link from the host's root.
func TestPagesAreSound(t *testing.T) {
	t.Parallel()
	f := setup(t)
	b := f.browse(nil)
	paths := []string{"", "?state=completed&text=x&label=a%3Db", "workflows", "workflows/refund/start", "workflows/refund/start?as=json", "health"}
	for _, path := range paths {
		for _, w := range checkHTML(b.page(path)) {
			t.Errorf("%q: %s", path, w)
		}
	}
	for _, state := range []pawl.RunState{
		pawl.StateCompleted, pawl.StateFailed, pawl.StateNeedsDecision, pawl.StateWaiting, pawl.StateRunning,
	} {
		r := f.inState(state)
		for _, w := range checkHTML(b.page("runs/" + r.ID())) {
			t.Errorf("%s: %s", state, w)
		}
	}
	orphan := f.orphaned("orphan", "W77")
	for _, path := range append(paths, "runs/"+orphan.ID()) {
		for _, w := range checkHTML(b.page(path)) {
			t.Errorf("with runs, %q: %s", path, w)
		}
	}
	for _, path := range []string{"runs/none", "nothing/at/all", "workflows/none/start", "?cursor=%21"} {
		status, page := b.get(path)
		if status < 400 {
			t.Errorf("%q: %d", path, status)
		}
		for _, w := range checkHTML(page) {
			t.Errorf("%q: %s", path, w)
		}
	}
}
