package httptool

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/host/expr"
)

// askable is a tool whose receiver can be asked what became of a key. It is a
// type of its own since a tool that has the method Verify promises to answer.
type askable struct {
	*tool
	query           *urlTemplate
	applied, absent *expr.Program // both nil for 2xx and 404, of a url with the key in its path
	receipt         pointer
}

// Verify implements [host.Verifier].
func (t *askable) Verify(ctx context.Context, c *host.Call) host.Verdict {
	u, err := t.query.expand(func(name string) (string, error) {
		if name == "key" {
			return t.contract.KeyText(c.Key), nil
		}
		return fields(c.Body).text(name)
	})
	if err != nil {
		return host.Verdict{Code: "invalid_request", Message: err.Error()}
	}
	r, failed := t.exchange(ctx, &sending{method: "GET", url: u, asks: true}, func() {})
	if failed != nil {
		return host.Verdict{Code: failed.code, Message: failed.message, CredentialsRefused: failed.refused}
	}
	if !decides(r.response.Status) || r.cut != nil {
		return t.noAnswer(r)
	}
	return t.decide(r)
}

// decides reports whether an answer of this status can be about the key: it is
// neither about credentials, nor load, nor another place.
func decides(status int) bool {
	switch byDefault(status, false, true) {
	case host.OutcomeApplied, host.OutcomeRejected:
		return true
	}
	return false
}

func (t *askable) noAnswer(r *reply) host.Verdict {
	v := host.Verdict{
		Code: "http_" + strconv.Itoa(r.response.Status), Message: describe(r, http.MethodGet, t.query),
		RetryAfter: r.wait, CredentialsRefused: r.refused,
	}
	if r.cut != nil {
		v.Code, v.Message = r.cut.code, r.cut.message
	}
	return v
}

// decide puts the reply into the two questions.
func (t *askable) decide(r *reply) host.Verdict {
	applied, absent, err := t.ask(r.response)
	switch {
	case err != nil:
		return host.Verdict{Code: "verify_failed", Message: shorten(err.Error(), maxMessage)}
	case applied && absent:
		return host.Verdict{Code: "verify_unclear", Message: "the verify query's answer is both applied and absent"}
	case absent:
		return host.Verdict{Kind: host.Absent, Response: r.response}
	case applied:
		return t.found(r.response)
	}
	v := t.noAnswer(r)
	v.Code, v.Message = "verify_unclear", v.Message+", which is neither applied nor absent"
	return v
}

// ask evaluates both expressions. An expression that fails leaves nothing
// known, whatever the other one says: the answer is not what its author knew.
func (t *askable) ask(r host.Response) (applied, absent bool, err error) {
	if t.applied == nil {
		return r.Status >= 200 && r.Status <= 299, r.Status == 404, nil
	}
	vars := map[string]any{"status": int64(r.Status), "response": nil}
	if r.Type == abi.TypeJSON {
		if vars["response"], err = expr.Decode(r.Body); err != nil {
			return false, false, fmt.Errorf("the verify query's answer: %w", err)
		}
	}
	if applied, err = t.applied.Bool(vars); err != nil {
		return false, false, fmt.Errorf("verify.applied: %w", err)
	}
	if absent, err = t.absent.Bool(vars); err != nil {
		return false, false, fmt.Errorf("verify.absent: %w", err)
	}
	return applied, absent, nil
}

// found takes the receipt out of the answer.
func (t *askable) found(r host.Response) host.Verdict {
	if len(t.receipt) > 0 {
		body, ok := t.receipt.get(r.Body)
		if r.Type != abi.TypeJSON || !ok {
			return host.Verdict{Code: "verify_no_receipt", Message: "the verify query's answer says applied but has no receipt at its place"}
		}
		r.Body = body
	}
	v := host.Verdict{Kind: host.Found, Response: r}
	v.Units, v.Message = readUnits(t.units, r)
	if v.Message != "" {
		v.Code = "units_missing"
	}
	return v
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
	if a.query != nil && b.tool.body == bodyRaw && slices.ContainsFunc(a.query.names(), func(name string) bool { return name != "key" }) {
		b.fault("verify.url", "takes only {key} here: a raw body has no fields that could be put into it")
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
	case a.query != nil && slices.Contains(a.query.query.names(), "key") && !slices.Contains(a.query.path.names(), "key"):
		b.fault("verify.applied", `is missing, and so is verify.absent: ?key={key} asks for a list, and 200 with an empty one would pass for applied; `+
			`write both, as in applied = "size(response.data) >= 1" and absent = "size(response.data) == 0" (size(response) if the list has no name). `+
			`Only for a {key} in the path do 2xx and 404 stand for them`)
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
