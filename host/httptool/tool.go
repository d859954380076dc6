package httptool

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/pawl-dev/pawl/host"
)

// tool is a request to one receiver.
type tool struct {
	id        string
	contract  host.Contract
	method    string
	url       *urlTemplate
	headers   map[string]template
	secrets   secrets
	body      string  // how a request is written: bodyJSON, bodyForm or bodyRaw
	keyHeader string  // the header that has the key; empty for none
	keyInBody pointer // nil if the key does not go into the body
	keyQuery  string  // the parameter of the query that has the key; empty for none
	units     map[string]pointer
	outcomes  outcomes
	transport *http.Transport
}

var (
	_ host.Checker   = (*tool)(nil)
	_ host.Shower    = (*tool)(nil)
	_ host.Receiving = (*tool)(nil)
	_ host.Verifier  = (*askable)(nil)
	_ host.Receiving = (*askable)(nil)
)

// ID implements [host.Tool].
func (t *tool) ID() string { return t.id }

// Contract implements [host.Tool].
func (t *tool) Contract() host.Contract { return t.contract.WithDefaults() }

// Check implements [host.Checker].
func (t *tool) Check(c *host.Call) error {
	_, err := t.render(c, t.contract.KeyText(c.Key))
	return err
}

// Try implements [host.Tool].
func (t *tool) Try(ctx context.Context, c *host.Call) host.Answer {
	s, err := t.render(c, t.contract.KeyText(c.Key))
	if err != nil {
		return host.Answer{Outcome: host.OutcomeRejected, Code: "invalid_request", Message: err.Error()}
	}
	r, failed := t.exchange(ctx, s, c.Sent)
	if failed != nil {
		a := host.Answer{Outcome: host.OutcomeNotApplied, Code: failed.code, Message: failed.message, CredentialsRefused: failed.refused}
		if failed.sent {
			a.Outcome = host.OutcomeUnknown
		}
		return a
	}
	return t.judge(r)
}

// judge says what a reply means.
func (t *tool) judge(r *reply) host.Answer {
	a := host.Answer{Response: r.response}
	a.Outcome, a.Settles = t.outcomes.judge(r.response.Status, r.waits, t.isRead())
	if a.Outcome != host.OutcomeApplied {
		a.RetryAfter, a.CredentialsRefused = r.wait, r.refused
		a.Code, a.Message = "http_"+strconv.Itoa(r.response.Status), describe(r, t.method, t.url)
		return a
	}
	if r.cut != nil {
		return t.judgeCut(a, r.cut)
	}
	a.Units, a.Message = readUnits(t.units, r.response)
	if a.Message != "" {
		a.Code = "units_missing"
	}
	return a
}

// judgeCut decides about an answer that says "applied" and whose body is not
// whole. One that broke off is asked for again by the call's class. One that is
// too long would be too long again: a write happened, and a read is not to be
// had.
func (t *tool) judgeCut(a host.Answer, cut *failure) host.Answer {
	a.Code, a.Message = cut.code, cut.message
	switch {
	case cut.code != "answer_too_large":
		a.Outcome, a.Settles = host.OutcomeUnknown, false
	case t.isRead():
		a.Outcome = host.OutcomeRejected
	}
	return a
}

func (t *tool) isRead() bool { return t.contract.Effect == host.Read }

// describe says in one sentence what a reply was, and to what. Of the URL it
// shows the template: values may be long, and are in the request.
func describe(r *reply, method string, u *urlTemplate) string {
	status := r.response.Status
	text := fmt.Sprintf("the receiver answered %d", status)
	if name := http.StatusText(status); name != "" {
		text += " (" + name + ")"
	}
	text += " to " + method + " " + shorten(u.base+u.identity(), maxQuoted)
	if r.via != "" {
		text += fmt.Sprintf(", which led to %q", r.via)
	}
	if status >= 300 && status <= 399 {
		text += "; the redirect"
		if r.location != "" {
			text += fmt.Sprintf(" to %q", r.location)
		}
		text += " is not followed"
		if r.stuck != "" {
			text += ": " + r.stuck
		}
	}
	return text
}
