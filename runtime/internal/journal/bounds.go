package journal

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/kv"
)

// What a record may hold, in bytes. A batch of the journal is below the store's
// limit by construction: payloads are bodies with batches of their own, texts
// are cut to these, and what is left (a start with its pins) is measured before
// it is committed.
const (
	maxCode    = 128
	maxMessage = 8 << 10
	maxDetail  = 32 << 10
)

// ErrTooLarge is returned when a record would be too large to be kept. Nothing
// was stored.
var ErrTooLarge = errors.New("pawl: record too large")

// fits reports whether an entry may be committed with the changes beside it.
func fits(entry []byte, with *kv.Batch) error {
	if len(entry) > kv.MaxEntry {
		return fmt.Errorf("%w: %d bytes, at most %d fit", ErrTooLarge, len(entry), kv.MaxEntry)
	}
	if with != nil && with.Size() > kv.MaxWith-maxListing {
		return fmt.Errorf("%w: its index keys take %d bytes, at most %d fit", ErrTooLarge, with.Size(), kv.MaxWith-maxListing)
	}
	return nil
}

// cut shortens a text of somebody else to limit bytes. What is no UTF-8 in it is
// replaced: a record that had it could not be decoded again.
func cut(s string, limit int) string {
	const more = " ..."
	s = strings.ToValidUTF8(s, "?") // never longer than it was
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len(more)], "") + more
}

// cutDetail leaves out a failure's detail that is too large: half of a JSON
// value is none.
func cutDetail(detail []byte) []byte {
	if len(detail) <= maxDetail {
		return detail
	}
	return fmt.Appendf(nil, `{"left_out":"%d bytes; at most %d are kept"}`, len(detail), maxDetail)
}

// bound cuts the texts of a record.
func (r *Record) bound() {
	switch {
	case r.Retry != nil:
		r.Retry.Code, r.Retry.Message = cut(r.Retry.Code, maxCode), cut(r.Retry.Message, maxMessage)
	case r.Receipt != nil:
		r.Receipt.Code, r.Receipt.Message = cut(r.Receipt.Code, maxCode), cut(r.Receipt.Message, maxMessage)
		r.Receipt.Type = cut(r.Receipt.Type, maxCode)
	case r.Refusal != nil:
		r.Refusal.Code, r.Refusal.Message = cut(r.Refusal.Code, maxCode), cut(r.Refusal.Message, maxMessage)
	case r.Fail != nil:
		r.Fail.Code, r.Fail.Message = cut(r.Fail.Code, maxCode), cut(r.Fail.Message, maxMessage)
		r.Fail.Detail = cutDetail(r.Fail.Detail)
	case r.Park != nil:
		r.Park.Code, r.Park.Sentence = cut(r.Park.Code, maxCode), cut(r.Park.Sentence, maxMessage)
		r.Park.Help = cut(r.Park.Help, maxMessage)
	case r.Wait != nil:
		r.Wait.Sentence, r.Wait.Waker = cut(r.Wait.Sentence, maxMessage), cut(r.Wait.Waker, maxCode)
		if w := r.Wait.Waited; w != nil {
			w.Code, w.Message = cut(w.Code, maxCode), cut(w.Message, maxMessage)
		}
		if p := r.Wait.Pause; p != nil {
			p.Why = cut(p.Why, maxCode)
		}
	}
}
