package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// filled is the form of the refund as somebody has filled it in.
func filled(b *browser, order string) url.Values {
	form := hiddenOf(b.page("workflows/refund/start"))
	for name, value := range map[string]string{"in/order": order, "in/amount": "1200", "in/queue": `"normal"`, "in/address/city": "Ulm"} {
		form.Set(name, value)
	}
	return form
}

// The form starts one run, however often its button is pressed, and another one
// for another input.
//
// Seen red with an id that is made anew for each post, and with one that leaves
// the input out.
func TestFormStartsOneRun(t *testing.T) {
	t.Parallel()
	f := setup(t)
	b := f.browse(nil)
	form := filled(b, "W1")
	_, _, first := b.post("workflows/refund/start", form)
	status, _, second := b.post("workflows/refund/start", form)
	if status != http.StatusOK || first != second || !strings.HasPrefix(first, "runs/") {
		t.Fatalf("%d, at %q, then at %q", status, first, second)
	}
	form.Set("in/order", "W2")
	if _, _, other := b.post("workflows/refund/start", form); other == first || !strings.HasPrefix(other, "runs/") {
		t.Errorf("another input: at %q", other)
	}
	_, _, again := b.post("workflows/refund/start", filled(b, "W1"))
	if again == first || !strings.HasPrefix(again, "runs/") {
		t.Errorf("another page: at %q", again)
	}
	for _, at := range []string{first, again} {
		r, err := f.engine.Find(strings.TrimPrefix(at, "runs/"))
		if err != nil {
			t.Fatal(err)
		}
		if c := f.rest(r); c.State != pawl.StateCompleted {
			t.Errorf("%s: %s", at, c.State)
		}
	}
	if n := f.world.count("pay.refund", "W1"); n != 2 {
		t.Errorf("%d refunds", n)
	}
}

// What is wrong is said at its field, and what was typed is there still.
//
// Seen red with problems that lose their places, with a page that is made anew,
// and with typed characters that are shown by their numbers.
func TestFormSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	f := setup(t)
	b := f.browse(nil)
	f.rest(f.start("taken", "W9", ""))
	for name, row := range map[string]struct {
		change map[string]string
		status int
		field  string // whose error is shown
		typed  string
	}{
		"against the schema":   {map[string]string{"in/order": "X17"}, http.StatusUnprocessableEntity, "in-order-error", `value="X17"`},
		"too much":             {map[string]string{"in/amount": "500001"}, http.StatusUnprocessableEntity, "in-amount-error", `value="500001"`},
		"in an object":         {map[string]string{"in/address/city": "U"}, http.StatusUnprocessableEntity, "in-address-city-error", `value="U"`},
		"one line of a list":   {map[string]string{"in/items": "a"}, http.StatusOK, "", ""},
		"left out":             {map[string]string{"in/order": ""}, http.StatusUnprocessableEntity, "in-order-error", `value="1200"`},
		"an id that cannot be": {map[string]string{"id": "a b"}, http.StatusUnprocessableEntity, "id-error", `value="a b"`},
		"an id that is taken":  {map[string]string{"id": "taken"}, http.StatusConflict, "id-error", `value="taken"`},
		"unseen characters":    {map[string]string{"in/say": "a\u202eb", "in/order": ""}, http.StatusUnprocessableEntity, "in-order-error", "a\u202eb"},
	} {
		form := filled(b, "W3")
		for k, v := range row.change {
			form.Set(k, v)
		}
		status, html, at := b.post("workflows/refund/start", form)
		if status != row.status || row.field != "" && !strings.Contains(html, `id="`+row.field+`"`) || !strings.Contains(html, row.typed) {
			t.Errorf("%s: %d at %s: %s", name, status, at, html)
		}
		for _, wrong := range checkHTML(html) {
			t.Errorf("%s: %s", name, wrong)
		}
	}
	form := hiddenOf(b.page("workflows/refund/start?as=json"))
	form.Set("json", `{"order":"W4"}`)
	if status, html, _ := b.post("workflows/refund/start?as=json", form); status != http.StatusUnprocessableEntity || !strings.Contains(html, `id="json-error"`) || !strings.Contains(html, "&#34;W4&#34;") {
		t.Errorf("as JSON: %d %s", status, html)
	}
	form.Set("json", `{"order":"W4","amount":1,"queue":"urgent"}`)
	if status, _, at := b.post("workflows/refund/start?as=json", form); status != http.StatusOK || !strings.HasPrefix(at, "runs/") {
		t.Errorf("as JSON: %d at %s", status, at)
	}
}

// A paused recovery is told of, and let go by its button.
//
// Seen red with a button that does nothing.
func TestRecoveryIsLetGoFromThePage(t *testing.T) {
	t.Parallel()
	f := setup(t)
	r := f.inState(pawl.StateRunning)
	f.opts.Paused = true
	f.reopen(nil)
	f.world.release()
	b := f.browse(nil)
	html := b.page("")
	if !strings.Contains(html, "The recovery is paused") || !strings.Contains(html, "interrupted") {
		t.Fatal(html)
	}
	if status, html, at := b.post("recover", hiddenOf(html)); status != http.StatusOK || at != "" || strings.Contains(html, "The recovery is paused") {
		t.Errorf("%d at %q: %s", status, at, html)
	}
	r, err := f.engine.Find(r.ID())
	if err != nil {
		t.Fatal(err)
	}
	if c := f.rest(r); c.State != pawl.StateCompleted {
		t.Errorf("%s %+v", c.State, c.Reasons)
	}
}
