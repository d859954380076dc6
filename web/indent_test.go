package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/web"
)

// What is indented whole is what encoding/json makes of it.
func TestIndent(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`1`, `-1.5e+10`, `""`, `null`, `{}`, `[]`, `[[]]`, `{"a":{}}`, `[ { } , [ ] ]`, `{"a":[1,"2",true,{"b":null}],"":"}"}`,
		`"\\"`, `{"\"":"[\\\"{"}`, "{\n\t\"a\" :\r 1}", "{\"é\":\"\u2028\"}",
	} {
		var want bytes.Buffer
		if err := json.Indent(&want, []byte(raw), "", "  "); err != nil {
			t.Fatal(err)
		}
		if got, whole := web.Indent(json.RawMessage(raw), 1<<20); got != want.String() || !whole {
			t.Errorf("%s: %s, want %s", raw, got, want.String())
		}
		if got, _ := web.Indent(json.RawMessage(raw), 3); !strings.HasPrefix(want.String(), got) {
			t.Errorf("%s: begins %s, want %s", raw, got, want.String())
		}
	}
	if got, whole := web.Indent(json.RawMessage(`{"a":`), 1); got != `{"a":` || !whole {
		t.Errorf("no JSON: %s, %t", got, whole)
	}
}

// deeply is JSON that grows to a thousand times its size when it is indented.
func deeply(levels, within int) string {
	return strings.Repeat("[", levels) + "1" + strings.Repeat(",1", within) + strings.Repeat("]", levels)
}

// A body that is nested deeply costs a page no more than what it shows of it,
// and the address of the whole of it about its own size.
//
// Seen red with the text indented whole before it is cut: the input alone had
// 182 MB.
func TestDeepBodies(t *testing.T) {
	t.Parallel()
	f := setup(t)
	r := f.start("deep", "W1001", fmt.Sprintf(`"extra":%s`, deeply(900, 100_000)))
	f.rest(r)
	s := serve(t, f.engine, nil)
	if page := s.get("runs/deep").want(t, http.StatusOK); len(page.body) > 1<<20 {
		t.Errorf("the page has %d bytes", len(page.body))
	}
	whole := s.get("runs/deep/body?of=input").want(t, http.StatusOK)
	if len(whole.body) > 4<<20 || !json.Valid(whole.body) {
		t.Errorf("the input alone has %d bytes", len(whole.body))
	}
}
