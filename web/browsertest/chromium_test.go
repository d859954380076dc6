package browsertest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// patience bounds each wait for something that happens as soon as it can.
const patience = time.Minute

// chromium is the browser of all tests: one process, in which each test has
// profiles of its own.
type chromium struct {
	once   sync.Once
	ctx    context.Context
	cancel []context.CancelFunc
	dir    string
	err    error
}

var browser chromium

var errNoChromium = errors.New("there is no Chromium")

// needed starts the browser. Where there is none the test is skipped, or fails
// if there has to be one.
func (c *chromium) needed(t *testing.T) {
	t.Helper()
	if os.Getenv(mustVariable) == "0" {
		t.Skip(mustVariable + " is 0")
	}
	c.once.Do(c.start)
	switch {
	case errors.Is(c.err, errNoChromium) && os.Getenv(mustVariable) != "1":
		t.Skipf("%v: install Debian's package chromium", c.err)
	case c.err != nil:
		t.Fatal(c.err)
	}
}

func (c *chromium) start() {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		c.err = errNoChromium
		return
	}
	if c.dir, c.err = os.MkdirTemp("", "pawl-chromium-"); c.err != nil {
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(c.dir), chromedp.DisableGPU, chromedp.WindowSize(wide, high),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("hide-scrollbars", true), chromedp.WSURLReadTimeout(patience),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium's own refuses root
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	c.cancel = append(c.cancel, stop)
	c.ctx, stop = chromedp.NewContext(ctx)
	c.cancel = append(c.cancel, stop)
	c.err = chromedp.Do(c.ctx)
}

func (c *chromium) close() {
	if c.ctx != nil {
		_ = chromedp.Cancel(c.ctx) // waits for its end; the tests have their verdict
	}
	for _, stop := range c.cancel {
		stop()
	}
	_ = os.RemoveAll(c.dir)
}

// profile is one person's browser: what it stores, no other one sees.
type profile struct {
	t       *testing.T
	ctx     context.Context // of its first page, with which it ends
	origin  string
	windows bool // each page has a window of its own
}

// person opens a new profile that knows the server at the origin. It ends with
// the test.
func person(t *testing.T, origin string) *profile {
	t.Helper()
	browser.needed(t)
	return &profile{t: t, origin: origin}
}

// Sizes of the window: of a desk, and of a phone.
const (
	wide, high         = 1280, 900
	narrow, narrowHigh = 390, 844
)

// tab opens a tab. What goes wrong in it fails the test when it ends.
func (f *profile) tab() *page {
	f.t.Helper()
	p := &page{t: f.t, origin: f.origin, asked: map[string]string{}, expected: map[int64]bool{}}
	options := []chromedp.ContextOption{chromedp.WithListener(p.heard), chromedp.WithNewWindow(f.windows)}
	parent := f.ctx
	if parent == nil {
		parent = browser.ctx
		options = append(options, chromedp.WithNewBrowserContext())
	}
	var cancel context.CancelFunc
	p.ctx, cancel = chromedp.NewContext(parent, options...)
	f.t.Cleanup(func() {
		if f.t.Failed() {
			p.shot("failed-" + f.t.Name())
		}
		p.complain()
		cancel()
	})
	if f.ctx == nil {
		f.ctx = p.ctx
	}
	if err := chromedp.Do(p.ctx); err != nil {
		f.t.Fatal(err)
	}
	p.do(called(audits.Enable, cdp.Empty{}))
	p.size(wide, high)
	return p
}

// called is a command of the protocol as an action.
func called[P, R any](cmd cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, cmd, params)
		return err
	})
}

// size makes the window so large.
func (p *page) size(width, height int64) {
	p.t.Helper()
	p.do(called(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width == narrow,
	}))
}
