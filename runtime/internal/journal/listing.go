package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"github.com/pawl-dev/pawl/kv"
)

// Listing is what lists need of a run. It is folded from the run's records and
// kept under the run's open key, by the batch of the record that changes it, and
// under its ended key by the one that ends it: so a list reads no run.
type Listing struct {
	Format     int    `cbor:"1,keyasint"`
	ExternalID string `cbor:"2,keyasint"`
	Workflow   string `cbor:"3,keyasint"` // name
	Title      string `cbor:"4,keyasint,omitempty"`
	Started    int64  `cbor:"5,keyasint"` // microseconds
	Phase      Phase  `cbor:"6,keyasint"`
	// Code is that of the park, in PhaseDecision, of the wait, in PhaseWaiting if
	// a call waits, or of the failure, in PhaseFailed.
	Code string `cbor:"7,keyasint,omitempty"`
	// Due is when the next attempt is due, in PhaseWaiting; microseconds.
	Due int64 `cbor:"8,keyasint,omitempty"`
	// Clean says that the attempt was left in good order, in PhaseOpen.
	Clean bool `cbor:"9,keyasint,omitempty"`
	// Since is when the run came to rest like this, or ended; microseconds, 0
	// while an attempt is under way or was not left in good order.
	Since int64 `cbor:"10,keyasint,omitempty"`
	// Pins and Version are the beginnings of the digests of the run's pins and of
	// its workflow: runs with equal pins can go on with the same programs. Pins is
	// 0 in a listing of a program that did not write all this.
	Pins    uint64 `cbor:"11,keyasint,omitempty"`
	Version uint64 `cbor:"12,keyasint,omitempty"`
}

// PhaseUnreadable is the phase, in listings in memory alone, of an open run
// whose records cannot be understood.
const PhaseUnreadable Phase = "unreadable"

// maxListedTitle bounds the title in a listing, in bytes: a million open runs
// are to fit into memory.
const maxListedTitle = 256

// maxListing is more than a listing takes in a batch, in bytes.
const maxListing = 1 << 10

// Listing is what lists need of the state.
func (s *State) Listing() Listing {
	l := Listing{
		Format: Format, ExternalID: s.Start.ExternalID, Workflow: s.Start.Workflow,
		Title: cut(s.Start.Title, maxListedTitle), Started: micros(s.Started), Phase: s.Phase,
		Pins: s.pinned(), Version: ShortDigest(s.Start.Digest),
	}
	switch s.Phase {
	case PhaseDecision:
		l.Code = s.Park.Code
	case PhaseFailed:
		l.Code = s.Steps[s.Current].Failure.Code
	case PhaseWaiting:
		l.Due = micros(s.Steps[s.Current].Next)
		if s.Wait != nil {
			l.Code = s.Wait.Code
		}
	case PhaseOpen:
		l.Clean = s.Clean
	}
	if s.Phase != PhaseOpen || s.Clean {
		l.Since = micros(s.Updated)
	}
	return l
}

// pinned is the beginning of the digest of the pins, computed once.
func (s *State) pinned() uint64 {
	if s.pins == 0 {
		sum := sha256.Sum256(encode(s.Start.Pins))
		s.pins = max(1, binary.BigEndian.Uint64(sum[:]))
	}
	return s.pins
}

// ShortDigest is the beginning of a digest of a workflow as listings have it, 0
// if it is none.
func ShortDigest(digest string) uint64 {
	hex := digestPart(digest)
	n, _ := strconv.ParseUint(hex[:min(len(hex), 16)], 16, 64)
	return n
}

// list adds the run's new listing to the batch of the record that changes it.
// The caller holds mu. A run that ends stays in memory as it was until its end
// is durable: see [opened].
func (r *Run) list(with *kv.Batch) *kv.Batch {
	l := r.state.Listing()
	if l == r.listed {
		return with
	}
	r.listed = l
	if with == nil {
		with = new(kv.Batch)
	}
	if r.state.Ended() {
		with.Delete(join(prefixOpen, r.id))
		with.Set(endedKey(r.state.Updated, r.id), encode(l))
		return with
	}
	r.book.opened.set(r.id, l)
	with.Set(join(prefixOpen, r.id), encode(l))
	return with
}

// decodeListing reads a listing; false if it is none that this program
// understands, or one of a program that wrote less.
func decodeListing(value []byte) (l Listing, whole bool) {
	if decode(value, &l) != nil || l.Format != Format {
		return Listing{Phase: PhaseOpen}, false
	}
	return l, l.Pins != 0
}

// checkListing compares a listing with its run. One of a program that wrote
// less is no worse for it.
func (c *checker) checkListing(run string, key, value []byte, s *State) {
	var l Listing
	if err := decode(value, &l); err != nil {
		c.note("run %s: undecodable record at %q: %w", run, key, err)
		return
	}
	want := s.Listing()
	if l.Pins == 0 {
		want.Clean, want.Since, want.Pins, want.Version = false, 0, 0, 0
		if want.Phase == PhaseFailed {
			want.Code = ""
		}
	}
	if l != want {
		c.note("run %s is listed as %s %s and is %s %s", run, l.Phase, l.Code, want.Phase, want.Code)
	}
}
