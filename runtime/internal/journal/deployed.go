package journal

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// Deployed is a workflow as it is kept: the files that say what it is, and its
// modules by digest.
type Deployed struct {
	Format  int                  `cbor:"1,keyasint"`
	Name    string               `cbor:"2,keyasint"`
	Version string               `cbor:"3,keyasint"`
	Files   map[string]kv.Body   `cbor:"4,keyasint"` // workflow.toml and schemas; bodies under the workflow's prefix
	Modules map[string]ModuleRef `cbor:"5,keyasint"` // by file name
	At      int64                `cbor:"6,keyasint"` // microseconds
}

// ModuleRef names a stored module.
type ModuleRef struct {
	Hash [32]byte `cbor:"1,keyasint"` // SHA-256 of the author's bytes
	Size int64    `cbor:"2,keyasint"`
}

// Digest is the module's digest as people write it.
func (m ModuleRef) Digest() string { return "sha256:" + hex.EncodeToString(m.Hash[:]) }

// Deploy stores a workflow under its digest, all or nothing: its parts go
// first, in batches of their own; the last batch makes it visible. Deploying
// the same content again changes nothing but which one its name means.
func (b *Book) Deploy(ctx context.Context, digest, name, version string, files, modules map[string][]byte) (*Deployed, error) {
	named := new(kv.Batch)
	named.Set(join(prefixNamed, name), []byte(digest))
	if d, err := b.Deployed(digest); err == nil {
		return d, unavailable(b.store.Commit(named).Wait(ctx))
	} else if !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	d := &Deployed{
		Format: Format, Name: name, Version: version, At: micros(time.Now()),
		Files: map[string]kv.Body{}, Modules: map[string]ModuleRef{},
	}
	var parts []kv.Pending
	for file, data := range files {
		hash, p, err := kv.PutBlob(b.store, deployedPrefix(digest), data)
		if err != nil {
			return nil, fmt.Errorf("store %s: %w", file, unavailable(err))
		}
		parts = append(parts, p)
		d.Files[file] = kv.Body{Hash: &hash, Size: int64(len(data))}
	}
	for file, data := range modules {
		hash, p, err := kv.PutBlob(b.store, prefixModule, data)
		if err != nil {
			return nil, fmt.Errorf("store %s: %w", file, unavailable(err))
		}
		parts = append(parts, p)
		d.Modules[file] = ModuleRef{Hash: hash, Size: int64(len(data))}
	}
	for _, p := range parts { // one alone may find the disk full for a moment
		if err := p.Wait(ctx); err != nil {
			return nil, unavailable(err)
		}
	}
	named.Set(join(prefixDeployed, digestPart(digest)), encode(d))
	return d, unavailable(b.store.Commit(named).Wait(ctx))
}

// Deployed returns the workflow with the digest.
func (b *Book) Deployed(digest string) (d *Deployed, err error) {
	err = b.view(func(v kv.View) error {
		d, err = readDeployed(v, digest)
		return err
	})
	return d, err
}

// AllDeployed returns all workflows by digest, and the digest that each name
// means. Those whose records cannot be understood are left out, and are in err.
func (b *Book) AllDeployed() (all map[string]*Deployed, named map[string]string, err error) {
	var bad error
	err = b.view(func(v kv.View) error {
		all, named, bad = map[string]*Deployed{}, map[string]string{}, nil
		for item, err := range v.Scan(kv.Range{Prefix: prefixDeployed, KeysOnly: true}) {
			if err != nil {
				return err
			}
			hex := string(item.Key[len(prefixDeployed):])
			if strings.Contains(hex, "/") {
				continue // a file of it
			}
			d, err := readDeployed(v, "sha256:"+hex)
			if err != nil {
				bad = errors.Join(bad, err)
				continue
			}
			all["sha256:"+hex] = d
		}
		for item, err := range v.Scan(kv.Range{Prefix: prefixNamed}) {
			if err != nil {
				return err
			}
			named[string(item.Key[len(prefixNamed):])] = string(item.Value)
		}
		return nil
	})
	return all, named, errors.Join(err, bad)
}

func readDeployed(v kv.View, digest string) (*Deployed, error) {
	key := join(prefixDeployed, digestPart(digest))
	data, err := v.Get(key)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, fmt.Errorf("%w: workflow %s", ErrNotFound, digest)
	}
	if err != nil {
		return nil, err
	}
	d := new(Deployed)
	if err := decode(data, d); err != nil {
		return nil, &UndecodableError{Key: string(key), Err: err}
	}
	return d, nil
}

// Named returns the digest of the workflow that was deployed last under name.
func (b *Book) Named(name string) (digest string, err error) {
	err = b.view(func(v kv.View) error {
		data, err := v.Get(join(prefixNamed, name))
		if errors.Is(err, kv.ErrNotFound) {
			return fmt.Errorf("%w: workflow %q", ErrNotFound, name)
		}
		digest = string(data)
		return err
	})
	return digest, err
}

// Files reads the files of a workflow.
func (b *Book) Files(digest string, d *Deployed) (files map[string][]byte, err error) {
	err = b.view(func(v kv.View) error {
		files, err = readFiles(v, digest, d)
		return err
	})
	return files, err
}

func readFiles(v kv.View, digest string, d *Deployed) (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, body := range d.Files {
		data, err := kv.ReadBlob(v, deployedPrefix(digest), *body.Hash, body.Size)
		if err != nil {
			return nil, fmt.Errorf("workflow %s: %s: %w", digest, name, err)
		}
		files[name] = data
	}
	return files, nil
}

// HasModule reports whether the module is there, without reading it.
func (b *Book) HasModule(digest string) (found bool, err error) {
	raw, err := hex.DecodeString(digestPart(digest))
	if err != nil || len(raw) != 32 {
		return false, nil
	}
	err = b.view(func(v kv.View) error {
		found, err = kv.HasBlob(v, prefixModule, [32]byte(raw))
		return err
	})
	return found, err
}

// Module reads a module.
func (b *Book) Module(ref ModuleRef) (wasm []byte, err error) {
	err = b.view(func(v kv.View) error {
		wasm, err = readModule(v, ref)
		return err
	})
	return wasm, err
}

func readModule(v kv.View, ref ModuleRef) ([]byte, error) {
	wasm, err := kv.ReadBlob(v, prefixModule, ref.Hash, ref.Size)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, fmt.Errorf("%w: module %s is missing from the store", ErrNotFound, ref.Digest())
	}
	return wasm, err
}

func digestPart(digest string) string { return strings.TrimPrefix(digest, "sha256:") }

func deployedPrefix(digest string) []byte { return join(prefixDeployed, digestPart(digest), "/") }
