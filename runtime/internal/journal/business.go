package journal

import (
	"errors"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/kv"
)

// States of a business key.
const (
	BusinessOpen    uint8 = 1 // a call has it whose outcome is not known yet
	BusinessApplied uint8 = 2 // its effect happened: others get the receipt
	BusinessFree    uint8 = 3 // its last call is known not to be applied
	BusinessUnknown uint8 = 4 // a step was told that the outcome is unknown
)

// Business is who has a business key of a tool, over all runs of the store. It
// is changed by the batches of intents and receipts.
type Business struct {
	Format int   `cbor:"1,keyasint"`
	State  uint8 `cbor:"2,keyasint"`
	// Run, Step and Seq say which call has, or had, the key: see [Call.Seq].
	Run  string `cbor:"3,keyasint"`
	Step int    `cbor:"4,keyasint"`
	Seq  uint64 `cbor:"5,keyasint"`
	// Request is the hash of the request under the key.
	Request    []byte `cbor:"6,keyasint"`
	Generation uint32 `cbor:"7,keyasint,omitempty"`
	// First is when the receiver may first have seen this generation's key,
	// microseconds.
	First int64  `cbor:"8,keyasint,omitempty"`
	Tool  string `cbor:"9,keyasint"`
	Key   string `cbor:"10,keyasint"` // as the step gave it, cut
}

// Live reports whether the key stands for one request.
func (b *Business) Live() bool { return b != nil && b.State != BusinessFree }

// Hold is the right of a call to take a business key, as it was read.
type Hold struct {
	Name    []byte // see [Book.BusinessName]
	Key     string // as the step gave it
	Request host.Hash
	Was     []byte    // the record as it was read; nil if there was none
	Record  *Business // what it says
}

// Generation is that of the key to be sent.
func (h *Hold) Generation() uint32 {
	if h == nil || h.Record == nil {
		return 0
	}
	return h.Record.Generation
}

// First is when the receiver may first have seen the key; zero if it has not.
func (h *Hold) First() (at time.Time) {
	if h != nil && h.Record != nil && h.Record.First != 0 {
		at = fromMicros(h.Record.First)
	}
	return at
}

// BusinessName is the name under which a tool's business key is kept: 16 bytes
// that do not depend on its generation.
func (b *Book) BusinessName(tool, key string) []byte {
	name := host.NewBusinessKey(b.ID(), tool, key, 0)
	return name[:]
}

// ReadHold reads who has a business key.
func (b *Book) ReadHold(name []byte, key string, request host.Hash) (*Hold, error) {
	h := &Hold{Name: name, Key: key, Request: request}
	value, found, err := b.value(join(prefixBusiness, string(name)))
	if err != nil || !found {
		return h, err
	}
	h.Was, h.Record = value, new(Business)
	if err := decode(value, h.Record); err != nil || h.Record.Format != Format {
		return nil, fmt.Errorf("pawl: undecodable record at %q: %w", join(prefixBusiness, string(name)), errors.Join(err, errFormat))
	}
	return h, nil
}

var errFormat = errors.New("not a business key of a known format")

// take adds to an intent's batch that the call has the key from now on. The
// caller holds mu.
func (l *CallLedger) take(with *kv.Batch) {
	h := l.hold
	key := join(prefixBusiness, string(h.Name))
	if h.Was == nil {
		with.RequireAbsent(key)
	} else {
		with.Require(key, h.Was)
	}
	first := h.First()
	if first.IsZero() {
		first = time.Now()
	}
	with.Set(key, encode(l.business(BusinessOpen, l.run.chain.Head().Seq+1, first)))
}

// give adds to a receipt's batch what becomes of the key. The caller holds mu.
func (l *CallLedger) give(with *kv.Batch, outcome host.Outcome) {
	c := l.run.state.Steps[l.step].Calls[l.call.Index]
	b := l.business(BusinessApplied, c.Seq, c.First)
	b.Generation = c.Generation
	switch outcome {
	case host.OutcomeRejected:
		b.State, b.First = BusinessFree, 0
		b.Generation++
	case host.OutcomeNotApplied:
		b.State = BusinessFree
	case host.OutcomeUnknown:
		b.State = BusinessUnknown
	}
	with.Set(join(prefixBusiness, string(l.hold.Name)), encode(b))
}

func (l *CallLedger) business(state uint8, seq uint64, first time.Time) *Business {
	return &Business{
		Format: Format, State: state, Run: l.run.id, Step: l.step, Seq: seq, Request: l.hold.Request[:],
		Generation: l.hold.Generation(), First: micros(first), Tool: l.call.Tool, Key: cut(l.hold.Key, maxCode),
	}
}

// Hold makes the call take the business key with its intent, and settle it with
// its receipt.
func (l *CallLedger) Hold(h *Hold) { l.hold = h }

// Settled is the receipt on its way to the disk; nil if there is none.
func (l *CallLedger) Settled() kv.Pending {
	if l.settled == nil {
		return nil
	}
	return l.settled.pending
}

// Borrow gives a call the receipt of another one that has its business key.
// Nothing is sent, and nothing is charged.
type Borrow struct {
	Step       int     `cbor:"1,keyasint"`
	Attempt    int     `cbor:"2,keyasint"`
	Call       int     `cbor:"3,keyasint"`
	Grant      string  `cbor:"4,keyasint"`
	Tool       string  `cbor:"5,keyasint"`
	Class      uint8   `cbor:"6,keyasint"`
	Key        []byte  `cbor:"7,keyasint"` // 16 bytes
	Hash       []byte  `cbor:"8,keyasint"` // 32 bytes
	Type       string  `cbor:"9,keyasint"`
	Request    kv.Body `cbor:"10,keyasint"`
	Occurrence uint32  `cbor:"11,keyasint,omitempty"`
	Generation uint32  `cbor:"12,keyasint,omitempty"`
	// From is the run whose call it is, Seq that call's [Call.Seq].
	From    string  `cbor:"13,keyasint"`
	Seq     uint64  `cbor:"14,keyasint"`
	Receipt Receipt `cbor:"15,keyasint"` // a copy, without what it charged
}

func (s *State) borrow(r *Borrow, at time.Time) error {
	st, err := s.open(r.Step, r.Attempt)
	if err != nil {
		return err
	}
	c := &Call{
		Attempt: r.Attempt, Seq: s.Seq, Grant: r.Grant, Tool: r.Tool, Class: host.Class(r.Class), Type: r.Type,
		Request: r.Request, Occurrence: r.Occurrence, Generation: r.Generation, Borrowed: r.From,
		First: at, Last: at, Receipt: &r.Receipt,
	}
	if len(r.Key) != len(c.Key) || len(r.Hash) != len(c.Hash) || r.From == "" {
		return fmt.Errorf("a borrowed receipt without a key, a hash or a run")
	}
	copy(c.Key[:], r.Key)
	copy(c.Hash[:], r.Hash)
	return st.put(r.Call, c)
}

// Borrow records that a call gets the receipt of the one that has its business
// key, and returns the copy.
func (r *Run) Borrow(l *CallLedger, class host.Class) (*Receipt, error) {
	b := l.hold.Record
	receipt, response, err := r.lent(b)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	request, err := r.chain.Put(l.call.Body)
	if err != nil {
		return nil, err
	}
	if receipt.Response, err = r.chain.Put(response); err != nil {
		return nil, err
	}
	receipt.Step, receipt.Attempt, receipt.Call = l.step, l.call.Attempt, l.call.Index
	receipt.Units, receipt.At = nil, micros(time.Now())
	e := l.event(Claimed)
	e.Outcome, e.Status, e.Code = host.Outcome(receipt.Outcome), abi.Status(receipt.Status), receipt.Code
	_, err = r.append(nil, []Event{e}, Record{Borrow: &Borrow{
		Step: l.step, Attempt: l.call.Attempt, Call: l.call.Index, Grant: l.grant, Tool: l.call.Tool, Class: uint8(class),
		Key: l.call.Key[:], Hash: l.call.Hash[:], Type: l.call.Type, Request: request,
		Occurrence: l.occurrence, Generation: b.Generation, From: b.Run, Seq: b.Seq, Receipt: *receipt,
	}})
	return receipt, err
}

// lent reads the receipt, and its response, of the call that has a business key.
func (r *Run) lent(b *Business) (receipt *Receipt, response []byte, err error) {
	err = r.book.View(b.Run, func(s *Snapshot) error {
		c := s.call(b.Step, b.Seq)
		if c == nil || c.Receipt == nil {
			return fmt.Errorf("pawl: business key %q of %s: run %s does not have its receipt", b.Key, b.Tool, b.Run)
		}
		copied := *c.Receipt
		receipt = &copied
		response, err = s.Body(&c.Receipt.Response)
		return err
	})
	return receipt, response, err
}

// call finds a call of a step by its number.
func (s *State) call(step int, seq uint64) *Call {
	if step < 0 || step >= len(s.Steps) {
		return nil
	}
	for _, calls := range [][]*Call{s.Steps[step].Calls, s.Steps[step].Unclaimed} {
		for _, c := range calls {
			if c.Seq == seq && c.Borrowed == "" {
				return c
			}
		}
	}
	return nil
}

// checkBusiness compares the business keys with the calls that have them.
func (c *checker) checkBusiness() error {
	for item, err := range c.view.Scan(kv.Range{Prefix: prefixBusiness}) {
		if err != nil {
			return err
		}
		var b Business
		if err := decode(item.Value, &b); err != nil {
			c.note("undecodable record at %q: %w", item.Key, err)
			continue
		}
		s, known := c.states[b.Run]
		switch {
		case !known:
			c.note("business key %q of %s is that of run %s, which does not exist", b.Key, b.Tool, b.Run)
		case s != nil && !b.fits(s.call(b.Step, b.Seq)):
			c.note("business key %q of %s does not fit its call in run %s", b.Key, b.Tool, b.Run)
		}
	}
	return nil
}

// fits reports whether the call came to what the record says. One that was made
// again under another intent is gone from its step.
func (b *Business) fits(c *Call) bool {
	switch {
	case c == nil:
		return b.State == BusinessFree
	case b.State == BusinessOpen:
		return c.Receipt == nil
	case c.Receipt == nil:
		return false
	}
	outcome := host.Outcome(c.Receipt.Outcome)
	switch b.State {
	case BusinessApplied:
		return outcome == host.OutcomeApplied
	case BusinessUnknown:
		return outcome == host.OutcomeUnknown
	}
	return outcome == host.OutcomeRejected || outcome == host.OutcomeNotApplied
}
