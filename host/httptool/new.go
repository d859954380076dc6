package httptool

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/host"
)

const secretPrefix = "secret."

// New returns a tool of this kind. c holds what every kind of tool has; the
// parts that follow from cfg (Kind, Verifies, KeyWindow, Settle, Units, Rules)
// are filled in. secrets are those that a header may name; the ones that are
// named are read at every sending.
//
// The error joins a [*FieldError] for everything that is wrong. The tool also
// implements [host.Checker], [host.Shower], [host.Receiving], and [host.Verifier]
// if it has a verify query. There is nothing to close: no connection outlives its
// call.
func New(id string, c host.Contract, cfg *Config, secrets map[string]host.Secret) (host.Tool, error) {
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
	b.tool.transport = newTransport(slices.Contains(cfg.Allow, "private"), b.tool.contract.Timeout)
	if verifier != nil {
		return verifier, nil
	}
	return b.tool, nil
}

// Kind is [New] for a reader of tools.toml: decode fills a [Config] from the
// tool's table and returns what the table says for every kind of tool.
func Kind(id string, decode func(dst any) (host.Contract, error), secrets map[string]host.Secret) (host.Tool, error) {
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
	known map[string]host.Secret
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
	for _, a := range b.cfg.Allow {
		if a != "private" {
			b.fault("allow", `%q cannot be allowed; there is only "private"`, a)
		}
	}
	b.tool.url = b.address("url", b.cfg.URL)
	if b.tool.url != nil && slices.Contains(b.tool.url.names(), "key") {
		b.fault("url", "{key} is the idempotency key and stands only in verify.url and help; a request field of that name cannot be in the url")
	}
	b.body()
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
