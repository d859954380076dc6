package host

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/host/abi"
)

// maxMessage keeps a receipt's message in bytes well below abi.MaxHead.
const maxMessage = 2 << 10

// settle gives a receipt to the ledger. It is not undone by a ctx that has
// ended: what is known should not become unknown again.
func (p *pursuit) settle(ctx context.Context, r Receipt) (*Receipt, error) {
	r.At = time.Now()
	r.Units = p.units(r.Units)
	if err := p.ledger.Settle(context.WithoutCancel(ctx), r); err != nil {
		return nil, err
	}
	return &r, nil
}

// units keeps the amounts of the units that the contract names. A negative
// amount is left out: no receiver can give a budget back.
func (p *pursuit) units(amounts map[string]int64) map[string]int64 {
	var kept map[string]int64
	for _, unit := range p.contract.Units {
		if amount := amounts[unit]; amount > 0 {
			if kept == nil {
				kept = map[string]int64{}
			}
			kept[unit] = amount
		}
	}
	return kept
}

// receiptOf makes a receipt of an answer whose outcome is known.
func receiptOf(a Answer) Receipt {
	r := Receipt{Outcome: a.Outcome, Response: a.Response, Units: a.Units}
	switch a.Outcome {
	case OutcomeApplied:
		r.Status = abi.OK
		return r
	case OutcomeRejected:
		r.Status = abi.Rejected
	default:
		r.Outcome, r.Status, r.After = OutcomeNotApplied, abi.NotApplied, max(0, a.RetryAfter)
	}
	r.Code, r.Message = a.Code, cut(a.Message)
	if !abi.ValidCode(r.Code) {
		r.Code = r.Outcome.String()
	}
	return r
}

// unapplied makes the receipt of a call that is not to be tried again now.
func (p *pursuit) unapplied() Receipt {
	a := p.answer
	if p.late && a.Code == "" {
		a.Code = codeNoAnswer
	}
	if p.late && a.Message == "" {
		a.Message = fmt.Sprintf("no answer within %s", p.contract.Timeout)
	}
	r := receiptOf(a)
	if p.late {
		r.Status = abi.Deadline
	}
	return r
}

// cut shortens a message to maxMessage bytes of valid UTF-8.
func cut(s string) string {
	if len(s) > maxMessage {
		s = s[:maxMessage] + " ..."
	}
	return strings.ToValidUTF8(s, "\ufffd")
}
