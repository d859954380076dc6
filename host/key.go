package host

// Hash is a request hash (SHA-256).
type Hash [32]byte

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
	Generation uint32 // rises only when a rejected call is made again
}
