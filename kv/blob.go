package kv

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
)

// PutBlob queues payload to be stored under its hash, in chunks of [ChunkSize]
// under prefix, and returns the hash. Payload belongs to the store from then
// on. The blob is durable when p is: it is the last of its batches, each of which
// lands only behind the one before. They may be queued again. Whoever refers to
// the blob keeps its size too.
// The error is that of a batch that failed already when it was queued.
func PutBlob(s Store, prefix, payload []byte) (hash [32]byte, p Pending, err error) {
	hash = sha256.Sum256(payload)
	p = putChunks(s, prefix, hash, payload, func(*Batch) {}).Pending
	return hash, p, failed(p)
}

// putChunks queues the chunks of a payload, each in a batch of its own that is
// given its requirements by require, and returns the last batch. It lands only
// if all do: one alone may find the disk full for a moment.
func putChunks(s Store, prefix []byte, hash [32]byte, payload []byte, require func(*Batch)) part {
	var last part
	for n := uint32(0); ; n++ {
		size := min(len(payload), ChunkSize)
		b := &Batch{}
		require(b)
		last.require(b)
		next := part{key: chunkKey(prefix, hash, n), chunk: payload[:size:size]}
		b.Set(next.key, next.chunk)
		next.Pending = last.behind(s.Commit(b))
		last = next
		if payload = payload[size:]; len(payload) == 0 {
			return last
		}
	}
}

// part is a chunk on its way to the disk, and all chunks before it. The zero
// part is none.
type part struct {
	Pending
	key, chunk []byte
}

// require lets b land only behind the part.
func (p part) require(b *Batch) {
	if p.Pending != nil {
		b.Require(p.key, p.chunk)
	}
}

// behind is a batch that requires the part, and that fails for what the part
// failed for.
func (p part) behind(b Pending) Pending {
	if p.Pending == nil {
		return b
	}
	return follower{b, p.Pending}
}

// follower is a batch that lands only behind another one.
type follower struct {
	Pending
	before Pending
}

// Wait implements [Pending].
func (f follower) Wait(ctx context.Context) error { return f.cause(f.Pending.Wait(ctx)) }

// Err implements [Pending].
func (f follower) Err() error { return f.cause(f.Pending.Err()) }

func (f follower) cause(err error) error {
	if errors.Is(err, ErrRequirement) {
		if cause := failed(f.before); cause != nil {
			return cause
		}
	}
	return err
}

// HasBlob reports whether a blob is stored under prefix and hash, without
// reading it whole.
func HasBlob(v View, prefix []byte, hash [32]byte) (bool, error) {
	_, err := v.Get(chunkKey(prefix, hash, 0))
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// ReadBlob returns the blob of size bytes that is stored under prefix and hash,
// or [ErrNotFound] if its first chunk is absent. Anything else that does not
// fit, size and hash included, is a [CorruptError].
func ReadBlob(v View, prefix []byte, hash [32]byte, size int64) ([]byte, error) {
	var payload bytes.Buffer
	for n := uint32(0); n == 0 || int64(payload.Len()) < size; n++ {
		key := chunkKey(prefix, hash, n)
		chunk, err := v.Get(key)
		switch want := min(size-int64(payload.Len()), ChunkSize); {
		case errors.Is(err, ErrNotFound) && n > 0:
			return nil, corrupt(key, "chunk is missing")
		case err != nil:
			return nil, err
		case int64(len(chunk)) != want:
			return nil, corrupt(key, "chunk of %d bytes, want %d", len(chunk), want)
		}
		payload.Write(chunk)
	}
	if sha256.Sum256(payload.Bytes()) != hash {
		return nil, corrupt(chunkKey(prefix, hash, 0), "hash does not fit the chunks")
	}
	return payload.Bytes(), nil
}
