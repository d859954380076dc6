package browsertest

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// Without JavaScript a run is started, looked at by loading the page again, and
// resumed.
func TestPanelWorksWithoutJavaScript(t *testing.T) {
	t.Parallel()
	w := refunds(t, patient...)
	w.fault("llm.complete", "503")
	p := person(t, w.origin).tab()
	p.do(called(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	p.open("/")
	p.goes(`a[href$="workflows/refund/start"]`)
	p.startT1("refund-T1")
	w.rests(1)
	p.open("/")
	p.shows("main", "Refund W1001")
	p.goes(`main a[href*="runs/0"]`)
	p.shows("main", "begins attempt 2 of draft now")
	w.fault("llm.complete", "ok")
	p.goes(resume)
	w.until("refund-T1", func(c *pawl.Checkpoint) bool { return c.State == pawl.StateCompleted })
	p.goes(`nav a`)
	p.shows("main", "completed")
	if n := w.effects()["pay.refund"]; n != 1 {
		t.Errorf("%d payments", n)
	}
}
