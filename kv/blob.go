package kv

import (
	"bytes"
	"crypto/sha256"
	"errors"
)

// PutBlob queues payload to be stored under its hash, in chunks of [ChunkSize]
// under prefix, and returns the hash. Payload belongs to the store from then
// on. The blob is durable when p is: it is the last of its batches, which have
// no requirements and may be queued again. Whoever refers to the blob keeps its
// size too.
// The error is that of a batch that failed already when it was queued.
func PutBlob(s Store, prefix, payload []byte) (hash [32]byte, p Pending, err error) {
	hash = sha256.Sum256(payload)
	p = putChunks(s, prefix, hash, payload, func(*Batch) {})
	return hash, p, failed(p)
}

// putChunks queues the chunks of a payload, each in a batch of its own that is
// given its requirements by require, and returns the last batch.
func putChunks(s Store, prefix []byte, hash [32]byte, payload []byte, require func(*Batch)) Pending {
	for n := uint32(0); ; n++ {
		size := min(len(payload), ChunkSize)
		b := &Batch{}
		require(b)
		b.Set(chunkKey(prefix, hash, n), payload[:size])
		p := s.Commit(b)
		if payload = payload[size:]; len(payload) == 0 {
			return p
		}
	}
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
