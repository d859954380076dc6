package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// page is a tab that listens to what goes wrong in it.
type page struct {
	t      *testing.T
	ctx    context.Context
	origin string

	mu         sync.Mutex // guards what follows
	asked      map[string]string
	complaints []string
	away       bool
	expected   map[int64]bool
	enough     bool
}

// heard takes every event of the tab. Whatever a customer's console would show
// is a complaint.
func (p *page) heard(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.asked[string(e.RequestID)] = e.Request.URL
		if !p.own(e.Request.URL) {
			p.note("a request to another origin: %s", e.Request.URL)
		}
	case *network.EventLoadingFailed:
		if !e.Canceled && e.ErrorText != "net::ERR_ABORTED" && !p.away {
			p.note("%s failed: %s %s", p.asked[string(e.RequestID)], e.ErrorText, e.BlockedReason)
		}
	case *network.EventResponseReceived:
		if status := e.Response.Status; status >= 400 && !p.expected[status] && !p.away {
			p.note("%s answered %d", e.Response.URL, status)
		}
	case *network.EventWebSocketCreated:
		p.note("a web socket: %s", e.URL)
	case *log.EventEntryAdded:
		if e.Entry.Source != log.EntrySourceNetwork { // told above, with its address
			p.note("%s %s: %s (%s)", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventConsoleAPICalled:
		p.note("the console was told: %s", shown(e.Args))
	case *runtime.EventExceptionThrown:
		p.note("an exception: %s %s", e.ExceptionDetails.Text, shown(e.ExceptionDetails.Exception))
	case *audits.EventIssueAdded:
		p.note("an issue: %s %s", e.Issue.Code, shown(e.Issue.Details))
	case *cdppage.EventJavascriptDialogOpening:
		p.note("a dialog: %s", e.Message)
		go p.dismiss()
	}
}

func (p *page) dismiss() {
	_ = chromedp.Do(p.ctx, called(cdppage.HandleJavaScriptDialog, cdppage.HandleJavaScriptDialogParams{}))
}

// note keeps a complaint. p.mu is held.
func (p *page) note(format string, args ...any) {
	p.complaints = append(p.complaints, fmt.Sprintf(format, args...))
}

func shown(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (p *page) own(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "http", "https", "ws", "wss":
		return u.Scheme+"://"+u.Host == p.origin
	}
	return u.Scheme == "about" || u.Scheme == "data" || u.Scheme == "blob"
}

// most is how many complaints of a kind are told: they are seldom alone.
const most = 5

// complain fails the test if there were complaints, and forgets them.
func (p *page) complain() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.enough {
		return
	}
	for i, c := range p.complaints {
		if i == most {
			p.t.Errorf("the browser: and %d more", len(p.complaints)-most)
			break
		}
		p.t.Errorf("the browser: %s", c)
	}
	p.complaints = nil
}

// expect takes a status for what the test wants to see.
func (p *page) expect(status int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected[status] = true
}

// unreachable says whether the server is away, so that requests may fail.
func (p *page) unreachable(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
}

// do does what has to work, within the patience.
func (p *page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// open goes to an address of the server, such as "/workflows".
func (p *page) open(path string) {
	p.t.Helper()
	p.do(chromedp.Navigate(p.origin + path))
}

// eval returns the value of an expression.
func eval[T any](p *page, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits until an expression is true. The page may navigate meanwhile.
func (p *page) until(what, expression string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		if err == nil && ok {
			return
		}
		select {
		case <-ctx.Done():
			p.t.Fatalf("waited for: %s (last error: %v); the page at %s shows:\n%s", what, err, p.location(), p.text("body"))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// shows waits until an element contains a text.
func (p *page) shows(selector, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("%q in %s", text, selector), fmt.Sprintf(
		"[...document.querySelectorAll(%s)].some(e => e.textContent.includes(%s))", shown(selector), shown(text)))
}

func (p *page) location() string { return eval[string](p, "location.href") }

// text is what an element shows; empty if there is none.
func (p *page) text(selector string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf("document.querySelector(%s)?.innerText ?? ''", shown(selector)))
}

// goes presses something that leads to another page, and waits for that.
func (p *page) goes(selector string) (status int64) {
	p.t.Helper()
	status, err := p.tries(selector)
	if err != nil {
		p.t.Fatal(err)
	}
	return status
}

// tries is goes for a goroutine that is not the test's.
func (p *page) tries(selector string) (status int64, err error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	err = aimed(func() error {
		answer, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
		if err == nil {
			status = answer.Status
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", selector, err)
	}
	return status, nil
}

// aimed presses again what a live update has replaced between the looking and
// the pressing: nothing was pressed then.
func aimed(press func() error) error {
	for {
		err := press()
		if err == nil || !strings.Contains(err.Error(), "Could not find node with given id") {
			return err
		}
	}
}

// doubleClicks presses twice, as fast as people do who always do that.
func (p *page) doubleClicks(selector string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	err := aimed(func() error {
		return chromedp.Do(ctx, chromedp.DoubleClick(chromedp.CSS(selector), chromedp.NodeVisible))
	})
	if err != nil {
		p.t.Fatalf("%s: %v", selector, err)
	}
}

// fill types into a field that is empty.
func (p *page) fill(selector, text string) {
	p.t.Helper()
	p.do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// shot keeps a picture of the whole page, if somebody wants the artefacts.
func (p *page) shot(name string) {
	dir := os.Getenv(artefactsVariable)
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	beyond := true
	picture, err := cdp.Call(ctx, chromedp.FromContext(p.ctx).Target, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{
		CaptureBeyondViewport: &beyond,
	})
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, "/", "-")+".png"), picture.Data, 0o600)
	}
	if err != nil {
		p.t.Errorf("the picture %s: %v", name, err)
	}
}

// hears waits for a complaint that contains the text. Then it is enough: nothing
// that this tab does is complained of any more.
func (p *page) hears(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		p.mu.Lock()
		all := strings.Join(p.complaints, "\n")
		p.enough = strings.Contains(all, text) || time.Now().After(end)
		p.mu.Unlock()
		switch {
		case strings.Contains(all, text):
			return
		case p.enough:
			t.Fatalf("%q was not heard; only:\n%s", text, all)
		}
	}
}
