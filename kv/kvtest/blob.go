package kvtest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/pawl-dev/pawl/kv"
)

// noise returns size bytes that do not compress, equal for equal sizes.
func noise(size int) []byte {
	var seed [32]byte
	copy(seed[:], fmt.Sprint(size))
	out := make([]byte, size)
	_, _ = rand.NewChaCha8(seed).Read(out)
	return out
}

// counting counts the batches that a store is given.
type counting struct {
	kv.Store
	commits int
}

func (c *counting) Commit(b *kv.Batch) kv.Pending {
	c.commits++
	return c.Store.Commit(b)
}

var sizes = []int{0, 1, kv.InlineLimit, kv.InlineLimit + 1, kv.ChunkSize - 1, kv.ChunkSize, kv.ChunkSize + 1, 3*kv.ChunkSize + 7}

var blobRules = []rule{
	{"bodies of every size", func(b *bundle) {
		c := b.begin(1)
		bodies := make([]kv.Body, len(sizes))
		for i, size := range sizes {
			body, err := c.Put(noise(size))
			if err != nil {
				b.Fatal(err)
			}
			if inline := size <= kv.InlineLimit; inline != (body.Hash == nil) {
				b.Errorf("body of %d bytes: inline is %v", size, !inline)
			}
			bodies[i] = body
		}
		b.must(c.Append([]byte("entry 2"), nil))
		b.reopen()
		for i, size := range sizes {
			b.view(func(v kv.View) error {
				got, err := kv.ReadBody(v, prefix, bodies[i])
				if err == nil && !bytes.Equal(got, noise(size)) {
					b.Errorf("body of %d bytes differs", size)
				}
				return err
			})
		}
		b.reads(2, c.Head())
	}},
	{"a body is durable with the next entry and does not move the head", func(b *bundle) {
		c := kv.NewChain(b.store, prefix)
		head := c.Head()
		body, err := c.Put(noise(kv.InlineLimit + 1))
		if err != nil || c.Head() != head {
			b.Fatal(err, c.Head())
		}
		b.must(c.Append([]byte("entry 1"), nil))
		b.reads(1, c.Head())
		b.view(func(v kv.View) error {
			_, err := kv.ReadBody(v, prefix, body)
			return err
		})
	}},
	{"equal bodies are stored once", func(b *bundle) {
		store := &counting{Store: b.store}
		c := kv.NewChain(store, prefix)
		for range 5 {
			if _, err := c.Put(noise(2 * kv.ChunkSize)); err != nil {
				b.Fatal(err)
			}
			b.must(c.Append([]byte("x"), nil))
		}
		if chunks := store.commits - 5; chunks != 2 || len(b.keys("b")) != 2 {
			b.Errorf("got %d batches for %d chunks, want 2", chunks, len(b.keys("b")))
		}
	}},
	{"a body that is damaged is noticed", func(b *bundle) {
		c := b.begin(1)
		body, err := c.Put(noise(3 * kv.ChunkSize))
		if err != nil {
			b.Fatal(err)
		}
		b.must(c.Append([]byte("entry 2"), nil))
		read := func(body kv.Body) (err error) {
			b.view(func(v kv.View) error {
				_, err = kv.ReadBody(v, prefix, body)
				return nil
			})
			return err
		}
		keys := b.keys("b")
		for _, size := range []int64{body.Size - 1, body.Size + 1, 0, -1} {
			if err := read(kv.Body{Hash: body.Hash, Size: size}); !errors.Is(err, kv.ErrCorrupt) {
				b.Errorf("size %d: got %v", size, err)
			}
		}
		b.flip(keys[1])
		b.corrupt(read(body), keys[0])
		b.flip(keys[1])
		if err := read(body); err != nil {
			b.Errorf("flipped back: %v", err)
		}
		b.must(b.store.Commit(set(string(keys[1]), "short")))
		b.corrupt(read(body), keys[1])
		b.remove(keys[1])
		b.corrupt(read(body), keys[1])
		b.remove(keys[0])
		b.corrupt(read(body), keys[0])
	}},
	{"blobs outside a chain", func(b *bundle) {
		for _, size := range append(sizes, 5<<20) {
			payload := noise(size)
			hash, p, err := kv.PutBlob(b.store, []byte("module/"), bytes.Clone(payload))
			if err != nil || hash != sha256.Sum256(payload) {
				b.Fatalf("blob of %d bytes: hash %x, %v", size, hash, err)
			}
			b.must(p)
			b.view(func(v kv.View) error {
				got, err := kv.ReadBlob(v, []byte("module/"), hash, int64(size))
				if err == nil && !bytes.Equal(got, payload) {
					b.Errorf("blob of %d bytes differs", size)
				}
				if _, err := kv.ReadBlob(v, []byte("other/"), hash, int64(size)); !errors.Is(err, kv.ErrNotFound) {
					b.Errorf("absent blob: got %v", err)
				}
				return err
			})
		}
	}},
}
