package httptool

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/host"
)

// maxRetryAfter bounds what a receiver may ask for: a slip of its clock must
// not put a run to sleep for years.
const maxRetryAfter = 24 * time.Hour

// outcomes is an outcome map: what the operator said, and the default for the
// rest.
type outcomes map[int]host.Outcome

// judge answers the two questions of an answer: what became of this try, and
// whether it settles earlier unknown tries of the key.
func (m outcomes) judge(status int, waits, read bool) (outcome host.Outcome, settles bool) {
	outcome, ok := m[status]
	if !ok {
		outcome = byDefault(status, waits, read)
	}
	return outcome, outcome == host.OutcomeApplied || outcome == host.OutcomeRejected
}

// byDefault says what a status means where the operator did not. waits says
// that the answer has a Retry-After.
func byDefault(status int, waits, read bool) host.Outcome {
	switch {
	case status >= 200 && status <= 299:
		return host.OutcomeApplied
	case status >= 300 && status <= 399 && read:
		return host.OutcomeNotApplied
	case status == 401, status == 403, status == 407, // refused before it was looked at
		status == 425, status == 429, status == 503 && waits: // turned away at the door
		return host.OutcomeNotApplied
	case status == 408, status == 409: // timed out, or another is still at work with it
		return host.OutcomeUnknown
	case status >= 400 && status <= 499:
		return host.OutcomeRejected
	}
	return host.OutcomeUnknown
}

// refused reports whether an answer is about who asks: no call of the tool will
// work until a person has mended that. A status that the operator has named is
// about something else here.
func (m outcomes) refused(status int) bool {
	_, named := m[status]
	return !named && (status == 401 || status == 403 || status == 407)
}

// retryAfter reads the header of that name: seconds or a date. A date counts
// from the answer's own Date, since clocks differ.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0, false
	}
	if isDigits(text) {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter, true
		}
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), maxRetryAfter), true
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
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
