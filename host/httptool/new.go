package httptool

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/expr"
)

const secretPrefix = "secret."

// New returns a tool of this kind. c holds what every kind of tool has; the
// parts that follow from cfg (Kind, Verifies, KeyWindow, Settle, Units, Rules)
// are filled in. secrets returns the value of each secret that a header may
// name; it is called at every sending, possibly by several goroutines at once.
//
// The error joins a [*FieldError] for everything that is wrong. The tool also
// implements [host.Checker], [host.Verifier] if it has a verify query, and
// [io.Closer], which closes its idle connections.
func New(id string, c host.Contract, cfg *Config, secrets map[string]func() (string, error)) (host.Tool, error) {
	b := &builder{cfg: cfg, tool: &tool{id: id, contract: c}, known: secrets}
	b.request()
	b.key()
	b.units()
	b.answers()
	verifier := b.verify()
	if len(b.wrong) > 0 {
		return nil, errors.Join(b.wrong...)
	}
	b.rules(verifier)
	b.tool.contract = b.tool.contract.WithDefaults()
	// Who cannot be asked gets a connection of its own for every call: a kept
	// one that has gone stale would leave an outcome that a person must find out.
	fresh := verifier == nil && c.Effect != host.Read
	b.tool.transport = newTransport(slices.Contains(cfg.Allow, "private"), fresh)
	if verifier != nil {
		return verifier, nil
	}
	return b.tool, nil
}

// Kind is [New] for a reader of tools.toml: decode fills a [Config] from the
// tool's table and returns what the table says for every kind of tool.
func Kind(id string, decode func(dst any) (host.Contract, error), secrets map[string]func() (string, error)) (host.Tool, error) {
	var cfg Config
	c, err := decode(&cfg)
	if err != nil {
		return nil, err
	}
	return New(id, c, &cfg, secrets)
}

// builder checks a Config part by part and notes everything that is wrong.
type builder struct {
	cfg   *Config
	tool  *tool
	known map[string]func() (string, error)
	wrong []error
}

func (b *builder) fault(path, format string, args ...any) {
	b.wrong = append(b.wrong, &FieldError{Path: strings.Split(path, "."), Message: fmt.Sprintf(format, args...)})
}

// faultAt is fault for a field whose name the operator chose.
func (b *builder) faultAt(table, name, format string, args ...any) {
	b.wrong = append(b.wrong, &FieldError{Path: []string{table, name}, Message: fmt.Sprintf(format, args...)})
}

func (b *builder) request() {
	b.tool.method = b.cfg.Method
	switch b.cfg.Method {
	case "GET", "POST", "PUT", "PATCH", "DELETE":
	case "":
		b.tool.method = "POST"
		if b.tool.isRead() {
			b.tool.method = "GET"
		}
	default:
		b.fault("method", "%q is none of GET, POST, PUT, PATCH, DELETE", b.cfg.Method)
	}
	switch b.cfg.Body {
	case "", "json":
	case "form", "raw":
		b.fault("body", "%q does not exist yet: only JSON bodies can be sent; remove it", b.cfg.Body)
	default:
		b.fault("body", `%q is no kind of body; write "json" or remove it`, b.cfg.Body)
	}
	for _, a := range b.cfg.Allow {
		if a != "private" {
			b.fault("allow", `%q cannot be allowed; there is only "private"`, a)
		}
	}
	b.tool.url = b.address("url", b.cfg.URL)
	if b.tool.url != nil && slices.Contains(b.tool.url.names(), "key") {
		b.fault("url", "{key} is the idempotency key and stands only in verify.url and help; a request field of that name cannot be in the url")
	}
	b.headers()
}

// address parses a URL, nil if it is wrong.
func (b *builder) address(path, text string) *urlTemplate {
	if text == "" {
		b.fault(path, "is missing")
		return nil
	}
	u, err := parseURL(text)
	if err != nil {
		b.fault(path, "%v", err)
		return nil
	}
	for _, name := range u.names() {
		if strings.HasPrefix(name, secretPrefix) {
			b.fault(path, "{%s}: a secret goes into a header, since receivers and proxies write URLs into their logs", name)
			return nil
		}
	}
	return u
}

func (b *builder) headers() {
	b.tool.headers, b.tool.secrets = map[string]template{}, secrets{}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(b.cfg.Headers)) {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !validHeaderName(name):
			b.faultAt("headers", name, "%q cannot be the name of a header", name)
		case reserved[canonical]:
			b.faultAt("headers", name, "%s is set by the request itself; remove it", canonical)
		case seen[canonical]:
			b.faultAt("headers", name, "%s is there twice, in another spelling", name)
		}
		seen[canonical] = true
		b.tool.headers[name] = b.headerValue(name, b.cfg.Headers[name])
	}
}

func (b *builder) headerValue(name, value string) template {
	t, err := parseTemplate(value)
	if err != nil {
		b.faultAt("headers", name, "%v", err)
	}
	if !validHeaderText(value) {
		b.faultAt("headers", name, "has a line break or another control character")
	}
	for _, place := range t.names() {
		secret, ok := strings.CutPrefix(place, secretPrefix)
		if !ok {
			b.faultAt("headers", name, "{%s}: a header takes only secrets, as in {secret.name}", place)
			continue
		}
		read, ok := b.known[secret]
		if !ok {
			b.faultAt("headers", name, "there is no secret %q%s", secret, among(slices.Sorted(maps.Keys(b.known))))
			continue
		}
		b.tool.secrets[secret] = read
	}
	return t
}

func among(names []string) string {
	if len(names) == 0 {
		return "; name it in the table [secret]"
	}
	return "; the table [secret] has " + strings.Join(names, ", ")
}

func (b *builder) key() {
	k := b.cfg.Key
	if k.Query != "" {
		b.fault("key.query", "a key in the query does not exist yet; use header or json")
	}
	if k.Format != "" && k.Format != "ulid" {
		b.fault("key.format", `%q does not exist yet; keys are written as "ulid" (26 characters of Crockford base32)`, k.Format)
	}
	if k.Window != "" {
		b.tool.contract.KeyWindow = b.duration("key.window", k.Window, host.NoKeyWindow)
	}
	if k.JSON == "" {
		b.keyInHeader(k.Header)
		return
	}
	p, err := parsePointer(k.JSON)
	switch {
	case err != nil:
		b.fault("key.json", "%v", err)
	case k.Header != "":
		b.fault("key.json", "the key goes into a header or into the body, not both")
	case !hasBody(b.tool.method):
		b.fault("key.json", "a %s has no body that could hold the key; use header", b.tool.method)
	}
	b.tool.keyInBody = p
}

func (b *builder) keyInHeader(name string) {
	if name == "" && !b.tool.isRead() {
		name = "Idempotency-Key"
	}
	canonical := http.CanonicalHeaderKey(name)
	switch {
	case name == "":
	case !validHeaderName(name), reserved[canonical]:
		b.fault("key.header", "%q cannot be the name of the key's header", name)
	default:
		for other := range b.cfg.Headers {
			if http.CanonicalHeaderKey(other) == canonical {
				b.faultAt("headers", other, "%s is the header of the key; remove it here", canonical)
			}
		}
	}
	b.tool.keyHeader = canonical
}

// duration parses a Go duration; zero stands for what 0 means there, and is
// refused if that is 0.
func (b *builder) duration(path, text string, zero time.Duration) time.Duration {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		b.fault(path, "%q is no duration; write one as in \"10s\" or \"24h\"", text)
	case d < 0:
		b.fault(path, "%s is less than nothing", text)
	case d == 0 && zero == 0:
		b.fault(path, "must be more than 0")
	case d == 0:
		return zero
	}
	return d
}

func (b *builder) units() {
	b.tool.units = map[string]pointer{}
	b.tool.contract.Units = nil
	for _, name := range slices.Sorted(maps.Keys(b.cfg.Units)) {
		p, err := parsePointer(b.cfg.Units[name])
		if err != nil {
			b.faultAt("units", name, "%v", err)
		}
		b.tool.units[name] = p
		b.tool.contract.Units = append(b.tool.contract.Units, name)
	}
}

func (b *builder) answers() {
	b.tool.outcomes = outcomes{}
	for _, list := range b.cfg.Answer.lists() {
		for _, status := range list.statuses {
			if status < 100 || status > 599 {
				b.fault("answer."+list.outcome.String(), "%d is no HTTP status", status)
			}
			if before, ok := b.tool.outcomes[status]; ok {
				b.fault("answer."+list.outcome.String(), "%d is also under %s", status, before)
			}
			b.tool.outcomes[status] = list.outcome
		}
	}
}

type answerList struct {
	outcome  host.Outcome
	statuses []int
}

func (a Answers) lists() []answerList {
	return []answerList{
		{host.OutcomeApplied, a.Applied},
		{host.OutcomeRejected, a.Rejected},
		{host.OutcomeNotApplied, a.NotApplied},
		{host.OutcomeUnknown, a.Unknown},
	}
}

func (b *builder) verify() *askable {
	v := b.cfg.Verify
	if v == nil {
		if b.tool.contract.Effect == host.Verify {
			b.fault("effect", `"verify" needs a table [tool.%q.verify] that says how to ask`, b.tool.id)
		}
		return nil
	}
	a := &askable{tool: b.tool, query: b.address("verify.url", v.URL)}
	if a.query != nil && !slices.Contains(a.query.names(), "key") {
		b.fault("verify.url", "must have {key}: the receiver is asked what became of one call, by its key")
	}
	if v.Settle != "" {
		b.tool.contract.Settle = b.duration("verify.settle", v.Settle, 0)
	}
	switch {
	case v.Applied != "" && v.Absent != "":
		a.applied = b.expression("verify.applied", v.Applied)
		a.absent = b.expression("verify.absent", v.Absent)
	case v.Applied != "":
		b.fault("verify.applied", `needs verify.absent beside it; if there is no such answer, write absent = "false"`)
	case v.Absent != "":
		b.fault("verify.absent", "needs verify.applied beside it")
	}
	var err error
	if a.receipt, err = parsePointer(v.Receipt); err != nil {
		b.fault("verify.receipt", "%v", err)
	}
	b.tool.contract.Verifies = true
	return a
}

func (b *builder) expression(path, source string) *expr.Program {
	p, err := expr.Compile(source, "status", "response")
	if err != nil {
		b.fault(path, "%v", err)
	}
	return p
}
