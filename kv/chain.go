package kv

// Chain is the log of one run: entries numbered from 1 under a prefix, and a
// head {epoch, seq, running hash} that every batch requires and moves on. A
// batch that lost (fenced, or behind a failed one) takes all its successors
// with it, a lost acknowledgement can be resolved by reading the head, and
// [ReadChain] compares what a scan finds with what the head says, since with
// Badger absence is no evidence.
//
// A Chain has one owner and is not safe for concurrent use.
type Chain struct {
	store  Store
	prefix []byte
	head   Head
	blobs  map[[32]byte]bool
}

// Head says how far a chain has come. The zero Head is that of a chain that
// does not exist yet.
type Head struct {
	// Epoch rises when another owner takes the chain over.
	Epoch uint64
	// Seq is the number of the last entry.
	Seq uint64
	// Hash is the running hash over all entries: SHA-256 of the hash before,
	// the sequence number and the entry.
	Hash [32]byte
}

// Entry is one entry of a chain.
type Entry struct {
	Seq   uint64
	Value []byte
}

// Body is a payload of a run: small ones inline, others stored once per chain
// under their hash, in chunks that the store keeps out of its value log. It is
// meant to be part of a record.
type Body struct {
	Inline []byte    `cbor:"1,keyasint,omitempty"`
	Hash   *[32]byte `cbor:"2,keyasint,omitempty"` // SHA-256 of the payload; nil if inline
	Size   int64     `cbor:"3,keyasint,omitempty"` // bytes of the payload, if not inline
}

const (
	// InlineLimit is the size in bytes up to which a Body is kept inline.
	InlineLimit = 4 << 10
	// ChunkSize is the size in bytes of the chunks of a larger Body. It is
	// below Badger's ValueThreshold, so the value log stays empty.
	ChunkSize = 256 << 10
)
