package toolfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/httptool"
	"github.com/pawl-dev/pawl/host/toolfile"
)

func kinds() map[string]toolfile.Kind {
	return map[string]toolfile.Kind{"http": httptool.Kind}
}

// published is the example of the published format as it is written there.
const published = `pawl = 1

[secret]                                   # by name; values never stored, never shown to a step
pay_token = { env = "PAY_TOKEN", account = "acme-eu" }   # account: which receiver's books; or file = "/run/secrets/x", command = ["pass", "show", "x"]

[tool."orders.get"]
kind   = "http"
effect = "read"
url    = "https://orders.internal/v1/orders/{order}"    # {field} of the request, percent-encoded
allow  = ["private"]                                     # private addresses are refused otherwise

[tool."payments-eu"]
kind    = "http"
effect  = "keyed"                          # read | keyed | verify | once (the default)
method  = "POST"
url     = "https://api.pay.example/v1/refunds"
headers = { Authorization = "Bearer {secret.pay_token}" }
body    = "form"                           # json (default) | form | raw
timeout = "20s"
retry   = { tries = 5, backoff = "500ms", max_backoff = "30s" }   # Retry-After is obeyed
key     = { header = "Idempotency-Key", format = "uuid", window = "24h" }   # or json = "/message_id", query = "key"
units   = { eur_cent = "/amount" }         # JSON Pointer into the answer, booked with the receipt; such a call is "charged". Later: an estimate, booked with the intent
help    = "Ask payments on call; search the dashboard for the key {key}."

[tool."payments-eu".answer]                # only what differs from the defaults of DESIGN §6
not_applied = [402]

[tool."payments-eu".verify]                # asked first when an outcome is unknown, whatever the class
url     = "https://api.pay.example/v1/refunds?key={key}"
settle  = "10s"
applied = "size(response.data) == 1"       # CEL over status and response
absent  = "size(response.data) == 0"
receipt = "/data/0"

[tool."payments-eu".compensate]
tool    = "payments-eu.cancel"
request = { refund = "receipt.id" }
`

func TestPublishedExample(t *testing.T) {
	t.Parallel()
	r, err := toolfile.Parse("tools.toml", []byte(published), kinds())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"orders.get", "payments-eu"}, r.IDs()); diff != "" {
		t.Fatal(diff)
	}
	orders, _ := r.Tool("orders.get")
	if c := orders.Contract(); c.Effect != host.Read || c.Verifies || c.Timeout != host.DefaultTimeout || c.Rules["method"] != "GET" {
		t.Errorf("orders.get: %+v", c)
	}
	pay, _ := r.Tool("payments-eu")
	want := host.Contract{
		Effect: host.Keyed, Verifies: true, Timeout: 20 * time.Second, Tries: 5,
		Backoff: 500 * time.Millisecond, MaxBackoff: 30 * time.Second, KeyWindow: 24 * time.Hour, KeyFormat: "uuid", Settle: 10 * time.Second,
		Units: []string{"eur_cent"}, Kind: "http",
		Rules: map[string]string{
			"method": "POST", "body": "form", "key": "header Idempotency-Key",
			"answer.not_applied": "402", "units.eur_cent": "/amount",
			"verify.path": "/v1/refunds?key={key}", "verify.receipt": "/data/0",
			"verify.applied": "size(response.data) == 1", "verify.absent": "size(response.data) == 0",
		},
		Compensation: &host.Compensation{Tool: "payments-eu.cancel", Request: map[string]string{"refund": "receipt.id"}},
		Help:         "Ask payments on call; search the dashboard for the key {key}.",
	}
	if diff := cmp.Diff(want, pay.Contract()); diff != "" {
		t.Error(diff)
	}
	if r := pay.(host.Receiving).Receiver(); r != "https://api.pay.example (acme-eu)" {
		t.Errorf("the receiver is %s", r)
	}
}

// The receiver's address and its secrets are not part of a tool's identity;
// what is done and how it is asked are.
func TestIdentityOfATool(t *testing.T) {
	t.Parallel()
	digest := func(edits ...string) string {
		r, err := toolfile.Parse("tools.toml", []byte(strings.NewReplacer(edits...).Replace(published)), kinds())
		if err != nil {
			t.Fatal(err)
		}
		tool, _ := r.Tool("payments-eu")
		return tool.Contract().Digest()
	}
	base := digest()
	same := map[string][]string{
		"another host":           {"api.pay.example", "127.0.0.1:7717"},
		"another scheme":         {"https://api", "http://api"},
		"another secret":         {`env = "PAY_TOKEN"`, `file = "token"`},
		"another account":        {`account = "acme-eu"`, `account = "acme-us"`},
		"another help":           {"Ask payments", "Ask Ben"},
		"private addresses":      {`method  = "POST"`, "method = \"POST\"\nallow = [\"private\"]"},
		"another tool's timeout": {`effect = "read"`, "effect = \"read\"\ntimeout = \"1s\""},
	}
	for name, edits := range same {
		if digest(edits...) != base {
			t.Errorf("%s changes the identity", name)
		}
	}
	other := map[string][]string{
		"effect":             {`effect  = "keyed"`, `effect = "verify"`},
		"method":             {`"POST"`, `"PUT"`},
		"place of the key":   {`header = "Idempotency-Key"`, `json = "/id"`},
		"format of the key":  {`"uuid"`, `"ulid"`},
		"way to write it":    {`"form"`, `"json"`},
		"window":             {`"24h"`, `"0"`},
		"answers":            {"[402]", "[402, 404]"},
		"verify's query":     {"?key={key}", "?id={key}"},
		"verify's condition": {"== 0", "< 1"},
		"receipt":            {`"/data/0"`, `"/data/1"`},
		"settle":             {`"10s"`, `"11s"`},
		"units":              {`"/amount"`, `"/total"`},
		"compensation":       {"receipt.id", "receipt.key"},
	}
	for name, edits := range other {
		if digest(edits...) == base {
			t.Errorf("%s does not change the identity", name)
		}
	}
}

// What does not exist yet is refused with a sentence and its place, never
// ignored.
func TestNotYet(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, old, new, want string }{
		{"estimates", "help    =", "estimate = { eur_cent = 5 }\nhelp    =", `tools.toml:23:1: estimate: units are not estimated yet; they are read from the answer by units; remove it`},
		{"approvals", "help    =", "approve = \"true\"\nhelp    =", `tools.toml:23:1: approve: approvals do not exist yet; remove it`},
		{"approvers", "help    =", "approver = [\"ana\"]\nhelp    =", `tools.toml:23:1: approver: approvals do not exist yet; remove it`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(published, row.old, row.new, 1)
			if text == published {
				t.Fatal("the row changes nothing")
			}
			_, err := toolfile.Parse("tools.toml", []byte(text), kinds())
			if err == nil || err.Error() != row.want {
				t.Errorf("got  %v\nwant %s", err, row.want)
			}
		})
	}
}

// tool is a file with one tool whose table has the given lines, from line 4 on.
func tool(lines ...string) string {
	return "pawl = 1\n[tool.\"x.y\"]\nkind = \"http\"\n" + strings.Join(lines, "\n") + "\n"
}

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	t.Parallel()
	const url = `url = "https://x.example/a"`
	for _, row := range []struct{ name, text, want string }{
		{"no format", "", "tools.toml:1:1: the file must say pawl = 1, its format; this program knows no other"},
		{"a later format", "pawl = 2\n", "tools.toml:1:1: the file must say pawl = 1, its format; this program knows no other"},
		{"no kind", "pawl = 1\n[tool.x]\n" + url, `tools.toml:2:7: the tool x needs a kind (known: http)`},
		{"a kind with a slip", "pawl = 1\n[tool.x]\nkind = \"htp\"\n" + url, `tools.toml:3:1: there is no kind of tool "htp" (did you mean "http"?)`},
		{"an id with a dot and no quotes", "pawl = 1\n[tool.x.y]\nkind = \"http\"\n" + url, `tools.toml:2:7: the tool x needs a kind (an id with a dot needs quotes: [tool."x.y"])`},
		{"an id that is none", "pawl = 1\n[tool.\"X y\"]\nkind = \"http\"\n" + url, `tools.toml:2:7: "X y" cannot be the id of a tool ([a-z0-9_.-]{1,64})`},
		{"a slip in a common key", tool(url, `timout = "1s"`), `tools.toml:5:1: unknown key "timout" in [tool."x.y"] (did you mean "timeout"?)`},
		{"a slip in a key of the kind", tool(`ulr = "https://x.example"`), `tools.toml:4:1: unknown key "ulr" in [tool."x.y"] (did you mean "url"?)`},
		{"a wrong type", tool(url, `timeout = 20`), `tools.toml:5:1: timeout must be a string, not a whole number`},
		{"no duration", tool(url, `timeout = "20"`), `tools.toml:5:1: timeout: "20" is no duration; write it like "500ms", "20s" or "1h30m"`},
		{"no time at all", tool(url, `timeout = "0s"`), `tools.toml:5:1: timeout must be more than 0`},
		{"no tries", tool(url, `retry = { tries = 0 }`), `tools.toml:5:11: tries must be 1 or more; 1 is a single sending`},
		{"back-off shrinks", tool(url, `retry = { backoff = "2s", max_backoff = "1s" }`), `tools.toml:5:27: max_backoff: 1s is less than the backoff of 2s`},
		{"an effect with a slip", tool(url, `effect = "wirte"`), `tools.toml:5:1: "wirte" is no effect class (read, keyed, verify or once)`},
		{"verify without a query", tool(url, `effect = "verify"`), `tools.toml:5:1: effect: "verify" needs a table [tool."x.y".verify] that says how to ask`},
		{"no url", tool(`effect = "read"`), `tools.toml:2:7: url: is missing`},
		{"no address", tool(`url = "x.example/a"`), `tools.toml:4:1: url: must begin with https:// or http://`},
		{"a host chosen by the step", tool(`url = "https://{host}/a"`), `tools.toml:4:1: url: a field of the request may not choose the host; write one tool for each host`},
		{"a secret in the url", tool(`url = "https://x.example/{secret.a}"`), `tools.toml:4:1: url: {secret.a}: a secret goes into a header, since receivers and proxies write URLs into their logs`},
		{"the key in the url", tool(`url = "https://x.example/{key}"`), `tools.toml:4:1: url: {key} is the idempotency key and stands only in verify.url and help; a request field of that name cannot be in the url`},
		{"a password in the url", tool(`url = "https://a:b@x.example/"`), `tools.toml:4:1: url: a user or password does not belong here; write headers = { Authorization = "Basic {secret.name}" }`},
		{"a space in the url", tool(`url = "https://x.example/a b"`), `tools.toml:4:1: url: has a character that must be percent-encoded in a URL`},
		{"an open brace", tool(`url = "https://x.example/{a"`), `tools.toml:4:1: url: a { without its } in "{a"`},
		{"a method that is none", tool(url, `method = "FETCH"`), `tools.toml:5:1: method: "FETCH" is none of GET, POST, PUT, PATCH, DELETE`},
		{"an unknown secret", tool(url, `headers = { Authorization = "{secret.tok}" }`), `tools.toml:5:13: headers.Authorization: there is no secret "tok"; name it in the table [secret]`},
		{"a field in a header", tool(url, `headers = { A = "{order}" }`), `tools.toml:5:13: headers.A: {order}: a header takes only secrets, as in {secret.name}`},
		{"a header of the frame", tool(url, `headers = { host = "a" }`), `tools.toml:5:13: headers.host: Host is set by the request itself; remove it`},
		{"the key's own header", tool(url, `headers = { idempotency-key = "a" }`), `tools.toml:5:13: headers.idempotency-key: Idempotency-Key is the header of the key; remove it here`},
		{"the key in two places", tool(url, `key = { header = "K", json = "/k" }`), `tools.toml:5:23: key.json: the key goes to one place: a header, the body or the query`},
		{"the key in no body", tool(url, `method = "DELETE"`, `key = { json = "/k" }`), `tools.toml:6:9: key.json: a DELETE has no body that could hold the key; use header or query`},
		{"the key in the header and the query", tool(url, `key = { header = "K", query = "k" }`), `tools.toml:5:23: key.query: the key goes to one place: a header, the body or the query`},
		{"the key's parameter is taken", tool(`url = "https://x.example/a?b=1&%6bey={c}"`, `key = { query = "key" }`), `tools.toml:5:9: key.query: the url has a parameter "key" already`},
		{"the key's parameter may be taken", tool(`url = "https://x.example/a?{b}=1"`, `key = { query = "key" }`), `tools.toml:5:9: key.query: the url has a parameter whose name the step chooses, {b}; it could be the key's`},
		{"a form of the key that is none", tool(url, `key = { format = "UUID" }`), `tools.toml:5:9: key.format: "UUID" is no form of a key; write "ulid" (26 characters of Crockford base32) or "uuid"`},
		{"the key in a raw body", tool(url, `body = "raw"`, `key = { json = "/k" }`), `tools.toml:6:9: key.json: a raw body is sent as it is; use header or query`},
		{"a body that is none", tool(url, `body = "xml"`), `tools.toml:5:1: body: "xml" is no kind of body; write "json", "form" or "raw"`},
		{"a form that is read", tool(url, `effect = "read"`, `body = "form"`), `tools.toml:6:1: body: a GET has no body; remove it, or choose another method`},
		{"fields of bytes", tool(`url = "https://x.example/{a}"`, `body = "raw"`), `tools.toml:4:1: url: {a}: a raw body has no fields that could be put into the url`},
		{"fields of bytes in the query for them", tool(url, `body = "raw"`, `verify = { url = "https://x.example/{a}/{key}" }`), `tools.toml:6:12: verify.url: takes only {key} here: a raw body has no fields that could be put into it`},
		{"a command that is a sentence", "pawl = 1\n[secret]\ntok = { command = \"pass show x\" }\n", `tools.toml:3:9: command must be an array, not a string`},
		{"a command of nothing", "pawl = 1\n[secret]\ntok = { command = [\"\"] }\n", `tools.toml:3:9: command must begin with a program, and no part of it may have a zero byte`},
		{"an account that is no label", "pawl = 1\n[secret]\ntok = { env = \"A\", account = \"a, b\" }\n", `tools.toml:3:20: "a, b" cannot be the label of an account ([A-Za-z0-9._@:/+-]{1,64})`},
		{"a slip in a secret", "pawl = 1\n[secret]\ntok = { enw = \"A\" }\n", `tools.toml:3:9: unknown key "enw" in [secret.tok] (did you mean "env"?)`},
		{"no pointer", tool(url, `units = { cent = "amount" }`), `tools.toml:5:11: units.cent: "amount" is no JSON Pointer: it must begin with a slash, as in "/data/0"`},
		{"a unit that is no name", tool(url, `units = { "a b" = "/a" }`), `tools.toml:5:1: units: "a b" cannot be the name of a unit ([a-z0-9_]{1,64})`},
		{"an unknown permission", tool(url, `allow = ["all"]`), `tools.toml:5:1: allow: "all" cannot be allowed; there is only "private"`},
		{"a status twice", tool(url, `answer = { applied = [409], unknown = [409] }`), `tools.toml:5:29: answer.unknown: 409 is also under applied`},
		{"a status that is none", tool(url, `answer = { applied = [42] }`), `tools.toml:5:12: answer.applied: 42 is no HTTP status`},
		{"a query without the key", tool(url, `verify = { url = "https://x.example/a" }`), `tools.toml:5:12: verify.url: must have {key}: the receiver is asked what became of one call, by its key`},
		{"a query for a list without conditions", tool(url, `verify = { url = "https://x.example/a?key={key}" }`), `tools.toml:5:1: verify.applied: is missing, and so is verify.absent: ?key={key} asks for a list, and 200 with an empty one would pass for applied; write both, as in applied = "size(response.data) >= 1" and absent = "size(response.data) == 0" (size(response) if the list has no name). Only for a {key} in the path do 2xx and 404 stand for them`},
		{"half a condition", tool(url, `verify = { url = "https://x.example/{key}", applied = "true" }`), `tools.toml:5:45: verify.applied: needs verify.absent beside it; if there is no such answer, write absent = "false"`},
		{"a compensation by nothing", tool(url, `compensate = { request = { a = "receipt.id" } }`), `tools.toml:5:1: compensation: "" cannot be the name of a tool ([a-z0-9_.-]{1,64})`},
		{"a secret from nowhere", "pawl = 1\n[secret]\ntok = {}\n", `tools.toml:3:1: secret tok needs exactly one of env = "NAME", file = "PATH" and command = ["PROGRAM", "ARGUMENT"]`},
		{"a secret from two places", "pawl = 1\n[secret]\ntok = { env = \"A\", file = \"b\" }\n", `tools.toml:3:1: secret tok needs exactly one of env = "NAME", file = "PATH" and command = ["PROGRAM", "ARGUMENT"]`},
		{"a secret that is no name", "pawl = 1\n[secret]\n\"to.k\" = { env = \"A\" }\n", `tools.toml:3:1: "to.k" cannot be the name of a secret ([a-z][a-z0-9_]{0,63})`},
		{
			"two mistakes in two tools", tool(`url = "x"`) + "[tool.z]\nkind = \"http\"\nurl = \"y\"\nmethd = \"PUT\"\n",
			"tools.toml:4:1: url: must begin with https:// or http://\n" + `tools.toml:8:1: unknown key "methd" in [tool.z] (did you mean "method"?)`,
		},
		{
			"two mistakes in one tool", tool(`url = "x"`, `method = "FETCH"`),
			"tools.toml:4:1: url: must begin with https:// or http://\n" + `tools.toml:5:1: method: "FETCH" is none of GET, POST, PUT, PATCH, DELETE`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := toolfile.Parse("tools.toml", []byte(row.text), kinds())
			if err == nil || err.Error() != row.want {
				t.Errorf("got  %v\nwant %s", err, row.want)
			}
		})
	}
}

func TestExpressionThatDoesNotCompileIsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	text := tool(`url = "https://x.example/a"`, `[tool."x.y".verify]`, `url = "https://x.example/{key}"`, `applied = "size(response.data"`, `absent = "respons == null"`)
	_, err := toolfile.Parse("tools.toml", []byte(text), kinds())
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"tools.toml:7:1: verify.applied: ", "tools.toml:8:1: verify.absent: "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
}

func TestNoKeyWindow(t *testing.T) {
	t.Parallel()
	for _, zero := range []string{"0", "0s"} {
		r, err := toolfile.Parse("tools.toml", []byte(tool(`url = "https://x.example/a"`, `effect = "keyed"`, `key = { window = "`+zero+`" }`)), kinds())
		if err != nil {
			t.Fatal(err)
		}
		if x, _ := r.Tool("x.y"); x.Contract().KeyWindow != host.NoKeyWindow {
			t.Errorf("window %q: %v", zero, x.Contract().KeyWindow)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	beside, named := filepath.Join(dir, toolfile.Name), filepath.Join(dir, "other.toml")
	if _, err := toolfile.Find("", "", dir); err == nil || !strings.Contains(err.Error(), "--tools FILE or PAWL_TOOLS") {
		t.Errorf("without any file: %v", err)
	}
	for _, path := range []string{beside, named} {
		if err := os.WriteFile(path, []byte("pawl = 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		name, flag, env string
		want            toolfile.Place
	}{
		{"the flag wins", named, beside, toolfile.Place{Path: named, From: "--tools"}},
		{"then the environment", "", named, toolfile.Place{Path: named, From: "PAWL_TOOLS"}},
		{"then the workflow's folder", "", "", toolfile.Place{Path: beside, From: "beside the workflow"}},
	} {
		if got, err := toolfile.Find(row.flag, row.env, dir); err != nil || got != row.want {
			t.Errorf("%s: %v, %v", row.name, got, err)
		}
	}
	// A name that leads nowhere is a mistake, not a reason to take another file.
	if got, err := toolfile.Find(filepath.Join(dir, "gone"), named, dir); err == nil {
		t.Errorf("a missing file: %v", got)
	}
}
