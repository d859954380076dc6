package host

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Class is a tool's effect class: what its receiver promises about a call that
// is sent twice, and so what may be done about an unknown outcome.
type Class uint8

// The effect classes. The zero value is Once: a tool that declares nothing is
// never repeated by the machine.
const (
	// Once promises nothing: an unknown outcome waits for a person.
	Once Class = iota
	// Read changes nothing: it is repeated.
	Read
	// Keyed means that the receiver applies a key at most once within the
	// contract's KeyWindow, or that the request is harmless to repeat by
	// nature: it is asked first if it can be, else repeated with the same key.
	Keyed
	// Verify means that the receiver can be asked by key what happened.
	Verify
)

var classNames = [...]string{Once: "once", Read: "read", Keyed: "keyed", Verify: "verify"}

func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// ParseClass is the inverse of [Class.String].
func ParseClass(s string) (Class, error) {
	for c, name := range classNames {
		if name == s {
			return Class(c), nil
		}
	}
	return Once, fmt.Errorf("host: no effect class %q (read, keyed, verify, once)", s)
}

// MarshalText writes the class as its name.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the class from its name.
func (c *Class) UnmarshalText(text []byte) (err error) {
	*c, err = ParseClass(string(text))
	return err
}

// Defaults of a contract.
const (
	DefaultTimeout    = 30 * time.Second
	DefaultKeyWindow  = 24 * time.Hour
	DefaultSettle     = 30 * time.Second
	DefaultBackoff    = 500 * time.Millisecond
	DefaultMaxBackoff = 30 * time.Second
	// NoKeyWindow, as a KeyWindow, says never to rely on the receiver's memory
	// of keys.
	NoKeyWindow time.Duration = -1
)

// Contract is what a tool promises. Its digest is part of a run's pins, so it
// holds nothing that is not identity: no addresses, no secrets.
type Contract struct {
	// Effect is the effect class. Defaults to Once.
	Effect Class `json:"effect"`
	// Verifies says that the tool can be asked what became of a key: it
	// implements [Verifier]. Required for the class Verify.
	Verifies bool `json:"verifies,omitempty"`
	// Timeout bounds one try, and one verify query. Defaults to DefaultTimeout.
	Timeout time.Duration `json:"timeout"`
	// Tries bounds the sendings of one call in one entry of its attempt, the
	// first included; one more may follow on the receiver's word that it does
	// not know the key. Defaults to 1.
	Tries int `json:"tries"`
	// Backoff is the wait before the second try; it doubles from try to try up
	// to MaxBackoff. Defaults to DefaultBackoff and DefaultMaxBackoff.
	Backoff    time.Duration `json:"backoff"`
	MaxBackoff time.Duration `json:"max_backoff"`
	// KeyWindow is how long the receiver remembers a key. Defaults to
	// DefaultKeyWindow; NoKeyWindow for never.
	KeyWindow time.Duration `json:"key_window"`
	// KeyFormat is how the receiver is given keys. Defaults to "": 26 characters,
	// as ULIDs have; or KeyFormatUUID.
	KeyFormat string `json:"key_format,omitempty"`
	// Settle is how long after a try's deadline the receiver may still apply
	// it: an earlier "absent" is no evidence. Defaults to DefaultSettle.
	Settle time.Duration `json:"settle"`
	// Units names the units that an answer of this tool charges. A call with
	// any is "charged": even a read of it waits for its intent.
	Units []string `json:"units,omitempty"`
	// Kind names the kind of the tool, such as "http" or "go".
	Kind string `json:"kind"`
	// Rules is the rest of the tool's identity as its kind defines it: the
	// outcome map, the verify expressions, where the key goes. Keys and values
	// are shown to people when contracts differ.
	Rules map[string]string `json:"rules,omitempty"`
	// Compensation names the tool that undoes this one's effect, if any.
	Compensation *Compensation `json:"compensation,omitempty"`
	// Help is for the person who must find out what happened. Not identity.
	Help string `json:"-"`
}

// WithDefaults returns the contract with its defaults filled in, its units in
// order and each once, and nothing shared with c. Doing it again changes nothing.
func (c Contract) WithDefaults() Contract {
	setDefault(&c.Timeout, DefaultTimeout)
	setDefault(&c.Tries, 1)
	setDefault(&c.Backoff, DefaultBackoff)
	setDefault(&c.MaxBackoff, max(DefaultMaxBackoff, c.Backoff))
	setDefault(&c.KeyWindow, DefaultKeyWindow)
	setDefault(&c.Settle, DefaultSettle)
	c.Units = slices.Compact(slices.Sorted(slices.Values(c.Units)))
	c.Rules = cloneMap(c.Rules)
	if c.Compensation != nil {
		c.Compensation = &Compensation{Tool: c.Compensation.Tool, Request: cloneMap(c.Compensation.Request)}
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// cloneMap makes of an empty map none, so that both have one digest.
func cloneMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}

// Charged reports whether calls of this tool charge named units.
func (c Contract) Charged() bool { return len(c.Units) > 0 }

// Digest is the contract's identity: "sha256:" and the digest of its JSON in
// the form of RFC 8785 with the defaults filled in.
func (c Contract) Digest() string {
	text, err := json.Marshal(c.WithDefaults())
	if err == nil {
		text, err = appendCanonical(nil, text)
	}
	if err != nil {
		// Only rules whose names are not Unicode come here, which Validate refuses.
		text = []byte(err.Error())
	}
	return Hash(sha256.Sum256(text)).String()
}

// Compensation is declared, digested and shown; nothing runs it yet.
type Compensation struct {
	Tool    string            `json:"tool"`
	Request map[string]string `json:"request"` // field -> CEL expression
}
