package kv

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
)

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
	taking bool // the next entry raises the epoch
	blobs  map[[32]byte]bool
	parts  []part // what the next entry may refer to: the last chunks of payloads
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

// NewChain returns the chain to be begun under prefix. Its first batch fails
// with [ErrRequirement] if there is one already.
//
// All keys that begin with prefix and one of the letters b, e, h belong to the
// chain; no prefix may be the beginning of another chain's keys.
func NewChain(store Store, prefix []byte) *Chain {
	return OpenChain(store, prefix, Head{})
}

// OpenChain returns the chain under prefix that goes on behind head, which
// [ReadHead] or [ReadChain] found.
func OpenChain(store Store, prefix []byte, head Head) *Chain {
	return &Chain{store: store, prefix: bytes.Clone(prefix), head: head, blobs: map[[32]byte]bool{}}
}

// Head returns the head as it is once everything appended so far is durable.
func (c *Chain) Head() Head { return c.head }

// Append queues entry as the next one of the chain, together with the
// requirements and changes of with, which may be nil, and as urgent as that.
// Entry and with belong to the store from then on.
//
// After an error of the batch, [ErrBatchTooLarge] included, all later batches
// of this Chain fail with [ErrRequirement]: none may land without those before
// it. Read the head and use [OpenChain] to go on.
func (c *Chain) Append(entry []byte, with *Batch) Pending {
	b := &Batch{}
	c.requireHead(b)
	parts := c.parts
	c.parts = nil
	for _, p := range parts {
		p.require(b)
	}
	c.head = c.head.next(entry)
	c.take()
	b.Set(entryKey(c.prefix, c.head.Seq), entry)
	b.Set(headKey(c.prefix), c.head.encode())
	if with != nil {
		b.Requirements = append(b.Requirements, with.Requirements...)
		b.Changes = append(b.Changes, with.Changes...)
		b.Urgent = with.Urgent
	}
	entered := c.store.Commit(b)
	for _, p := range parts {
		entered = p.behind(entered)
	}
	return entered
}

// Put returns payload as a body to be part of an entry. Up to [InlineLimit]
// bytes are in the body itself and belong to it; more are queued, once per
// Chain and hash, in batches that require the chain's head and do not move it.
// Nobody needs to wait for these: the next entry of the chain requires them, and
// fails for what one of them failed for.
func (c *Chain) Put(payload []byte) (Body, error) {
	if len(payload) <= InlineLimit {
		return Body{Inline: payload}, nil
	}
	hash := sha256.Sum256(payload)
	body := Body{Hash: &hash, Size: int64(len(payload))}
	if c.blobs[hash] {
		return body, nil
	}
	c.blobs[hash] = true
	last := putChunks(c.store, c.prefix, hash, payload, c.requireHead)
	c.parts = append(c.parts, last)
	return body, failed(last)
}

// failed returns the error of a batch that has failed already.
func failed(p Pending) error {
	select {
	case <-p.Done():
		return p.Err()
	default:
		return nil
	}
}

func (c *Chain) requireHead(b *Batch) {
	if c.head == (Head{}) {
		b.RequireAbsent(headKey(c.prefix))
		return
	}
	b.Require(headKey(c.prefix), c.head.encode())
}

// next returns the head behind one more entry.
func (h Head) next(entry []byte) Head {
	sum := sha256.New()
	sum.Write(h.Hash[:])
	sum.Write(binary.BigEndian.AppendUint64(nil, h.Seq+1))
	sum.Write(entry)
	next := Head{Epoch: h.Epoch, Seq: h.Seq + 1}
	sum.Sum(next.Hash[:0])
	return next
}

const (
	headVersion = 1
	headSize    = 1 + 8 + 8 + sha256.Size // version, epoch, seq, hash
)

func (h Head) encode() []byte {
	out := make([]byte, 0, headSize)
	out = append(out, headVersion)
	out = binary.BigEndian.AppendUint64(out, h.Epoch)
	out = binary.BigEndian.AppendUint64(out, h.Seq)
	return append(out, h.Hash[:]...)
}

func decodeHead(key, value []byte) (Head, error) {
	if len(value) == 0 || value[0] != headVersion {
		return Head{}, corrupt(key, "unknown version of a head")
	}
	if len(value) != headSize {
		return Head{}, corrupt(key, "head of %d bytes, want %d", len(value), headSize)
	}
	h := Head{Epoch: binary.BigEndian.Uint64(value[1:]), Seq: binary.BigEndian.Uint64(value[9:])}
	copy(h.Hash[:], value[17:])
	if h.Seq == 0 {
		return Head{}, corrupt(key, "head of no entry")
	}
	return h, nil
}

// headKey, entryKey and chunkKey are the keys of a chain under its prefix.
func headKey(prefix []byte) []byte { return chainKey(prefix, 'h') }

func entryKey(prefix []byte, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(chainKey(prefix, 'e'), seq)
}

func chunkKey(prefix []byte, hash [32]byte, n uint32) []byte {
	return binary.BigEndian.AppendUint32(append(chainKey(prefix, 'b'), hash[:]...), n)
}

func chainKey(prefix []byte, kind byte) []byte {
	key := make([]byte, 0, len(prefix)+1+sha256.Size+4)
	return append(append(key, prefix...), kind)
}
