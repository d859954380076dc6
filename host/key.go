package host

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"

	"github.com/oklog/ulid/v2"
)

// Hash is a request hash (SHA-256).
type Hash [32]byte

// String writes the hash as "sha256:" and 64 hexadecimal digits.
func (h Hash) String() string { return "sha256:" + hex.EncodeToString(h[:]) }

// MarshalText writes the hash as [Hash.String] does.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// Key is the idempotency key of a call: 128 bits.
type Key [16]byte

// KeyVersion is the number of the key formula; every intent stores it.
const KeyVersion = 1

// Scope says which part of a run a call belongs to. Visit, Item and Segment
// are empty until loops, fan-out and saves exist.
type Scope struct {
	Lineage              string // the step's name in the version that first began it
	Visit, Item, Segment string
}

// KeyInput is everything that a key depends on. Neither an attempt nor a
// position in a log is in it.
type KeyInput struct {
	Store      string // the store's id
	Root       string // the run's key root
	Scope      Scope
	Tool       string // the operator's id of the tool
	Request    Hash
	Occurrence uint32 // counts equal requests within the scope, from 0
	// Generation is 0 at first and rises by 1 when a call whose receipt says
	// rejected is made again, because some receivers remember errors under a key.
	// Whoever keeps the receipts raises it, in the record that makes the call
	// again; Do never does: within one call the key stays.
	Generation uint32
}

// The domains keep keys and request hashes from ever being the digest of the
// same bytes. Their numbers are the formulas' versions.
const (
	keyDomain      = "pawl key 1"
	businessDomain = "pawl business key 1"
	requestDomain  = "pawl request 1"
	shownDomain    = "pawl shown 1"
)

// NewKey computes the key of a call by the formula numbered [KeyVersion]: the
// first 128 bits of SHA-256 over the fields, each with its length before it.
func NewKey(in KeyInput) Key {
	f := newFields(keyDomain)
	for _, s := range []string{
		in.Store, in.Root,
		in.Scope.Lineage, in.Scope.Visit, in.Scope.Item, in.Scope.Segment,
		in.Tool,
	} {
		f.add([]byte(s))
	}
	f.add(in.Request[:])
	f.add(binary.BigEndian.AppendUint32(nil, in.Occurrence))
	f.add(binary.BigEndian.AppendUint32(nil, in.Generation))
	sum := f.sum()
	return Key(sum[:len(Key{})])
}

// NewBusinessKey computes the key of a call that a step has given a business
// key: it holds across runs. Generation is as in [KeyInput].
func NewBusinessKey(store, tool, business string, generation uint32) Key {
	f := newFields(businessDomain)
	for _, s := range []string{store, tool, business} {
		f.add([]byte(s))
	}
	f.add(binary.BigEndian.AppendUint32(nil, generation))
	sum := f.sum()
	return Key(sum[:len(Key{})])
}

// String writes the key as 26 characters of Crockford's base32, as ULIDs are.
func (k Key) String() string { return ulid.ULID(k).String() }

// UUID writes the same bits in the form of a UUID, for receivers that ask for
// one. Its version and variant bits are not set.
func (k Key) UUID() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", k[:4], k[4:6], k[6:8], k[8:10], k[10:])
}

// ParseKey is the inverse of [Key.String]; it takes lower case too.
func ParseKey(s string) (Key, error) {
	id, err := ulid.ParseStrict(s)
	if err != nil {
		return Key{}, fmt.Errorf("host: %q is not a key (26 characters of Crockford's base32): %w", s, err)
	}
	return Key(id), nil
}

// MarshalText writes the key as [Key.String] does.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the key as [ParseKey] does.
func (k *Key) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKey(string(text))
	return err
}

// fields hashes a list of fields so that no two lists have the same bytes.
type fields struct{ h hash.Hash }

func newFields(domain string) fields {
	f := fields{sha256.New()}
	f.add([]byte(domain))
	return f
}

func (f fields) add(b []byte) {
	f.h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
	f.h.Write(b)
}

func (f fields) sum() Hash { return Hash(f.h.Sum(nil)) }
