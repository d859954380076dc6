package journal

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// Book is the runtime's part of a store: its identity, its workflows, and its
// runs. It is safe for concurrent use.
type Book struct {
	store    kv.Store
	identity identity
	values   turns // of those who change a value that steps keep
	opened   opened
	counting sync.Mutex // of whoever counts the runs that have ended
}

// identity is made when a store is first opened. The id is part of every
// idempotency key; the secret feeds the guests' random numbers, so that nobody
// outside can guess them.
type identity struct {
	Format  int    `cbor:"1,keyasint"`
	ID      string `cbor:"2,keyasint"`
	Secret  []byte `cbor:"3,keyasint"` // 32 bytes
	Created int64  `cbor:"4,keyasint"` // microseconds
}

// OpenBook reads the store's identity, or makes one for an empty store.
func OpenBook(ctx context.Context, store kv.Store) (*Book, error) {
	b := &Book{store: store}
	err := b.readIdentity()
	if !errors.Is(err, kv.ErrNotFound) {
		return b, err
	}
	if h := store.Health(); h.Condition == kv.Held {
		return nil, fmt.Errorf("pawl: the store is held and has no identity: %s", h.Reason)
	}
	made := identity{Format: Format, Secret: make([]byte, 32), Created: micros(time.Now())}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	_, _ = rand.Read(made.Secret)
	made.ID = hex.EncodeToString(id)
	batch := new(kv.Batch)
	batch.RequireAbsent(keyIdentity)
	batch.Set(keyIdentity, encode(made))
	if err := store.Commit(batch).Wait(ctx); err != nil && !errors.Is(err, kv.ErrRequirement) {
		return nil, err
	}
	return b, b.readIdentity()
}

func (b *Book) readIdentity() error {
	return b.view(func(v kv.View) error {
		data, err := v.Get(keyIdentity)
		if err != nil {
			return err
		}
		if err := decode(data, &b.identity); err != nil {
			return fmt.Errorf("pawl: the store's identity cannot be read: %w", err)
		}
		if b.identity.Format != Format {
			return fmt.Errorf("pawl: the store has format %d; this program knows format %d", b.identity.Format, Format)
		}
		return nil
	})
}

// ID is the store's id: 128 random bits in hex.
func (b *Book) ID() string { return b.identity.ID }

// Secret is the store's secret, 32 bytes.
func (b *Book) Secret() []byte { return b.identity.Secret }

// external is what is kept under an external id.
type external struct {
	Run      string `cbor:"1,keyasint"`
	Workflow string `cbor:"2,keyasint"` // name
	Input    []byte `cbor:"3,keyasint"` // hash of the canonical input
}

// Begin begins a run with its first attempt, durably. It is idempotent by the
// start's external id: with the same workflow name and input hash it finds the
// run that has it (then the handle is nil), otherwise it fails with
// [ErrInputConflict].
func (b *Book) Begin(ctx context.Context, s *Start, input []byte, inputHash [32]byte, observe Observer) (*Run, string, error) {
	if found, err := b.taken(s, inputHash); found != "" || err != nil {
		return nil, found, err
	}
	r := b.newRun(s.Run, kv.NewChain(b.store, runPrefix(s.Run)), new(State), observe)
	body, err := r.chain.Put(input)
	if err != nil {
		return nil, "", err
	}
	s.Input = body
	with := new(kv.Batch)
	with.RequireAbsent(join(prefixExternal, s.ExternalID))
	with.Set(join(prefixExternal, s.ExternalID), encode(external{Run: s.Run, Workflow: s.Workflow, Input: inputHash[:]}))
	for _, key := range labelKeys(s) {
		with.Set(key, []byte{Format})
	}
	r.mu.Lock()
	wait, err := r.append(with, nil, Record{Start: s}, Record{Begin: &Begin{Attempt: 1}})
	r.mu.Unlock()
	if err == nil {
		// What is queued lands, whoever gives up waiting: a run that is there and
		// that nobody knows of would stand still.
		err = wait.Wait(context.WithoutCancel(ctx))
	}
	if err != nil {
		r.Close()
		b.opened.remove(s.Run)
	}
	if errors.Is(err, kv.ErrRequirement) { // somebody was faster
		found, err := b.taken(s, inputHash)
		return nil, found, err
	}
	if err != nil {
		return nil, "", unavailable(err)
	}
	return r, s.Run, nil
}

// taken returns the run that has the start's external id already, if any. What is
// the id of another run names that one, and nothing else.
func (b *Book) taken(s *Start, inputHash [32]byte) (string, error) {
	var ext external
	err := b.view(func(v kv.View) error {
		err := b.external(v, s.ExternalID, &ext)
		if !errors.Is(err, ErrNotFound) || s.ExternalID == s.Run {
			return err
		}
		if found, damage := hasChain(v, s.ExternalID); found || damage != nil {
			return fmt.Errorf("%w: %q is the id of another run; choose another external id", ErrInputConflict, s.ExternalID)
		}
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if ext.Workflow != s.Workflow || string(ext.Input) != string(inputHash[:]) {
		return "", fmt.Errorf("%w: %q is run %s of %s", ErrInputConflict, s.ExternalID, ext.Run, ext.Workflow)
	}
	return ext.Run, nil
}

func (b *Book) external(v kv.View, id string, ext *external) error {
	data, err := v.Get(join(prefixExternal, id))
	if errors.Is(err, kv.ErrNotFound) {
		return fmt.Errorf("%w: run %q", ErrNotFound, id)
	}
	if err != nil {
		return err
	}
	if err := decode(data, ext); err != nil {
		return &UndecodableError{Run: id, Key: string(join(prefixExternal, id)), Err: err}
	}
	return nil
}

// Find returns the run whose id or external id this is.
func (b *Book) Find(id string) (string, error) { return b.find(id, nil) }

// Lookup returns the run that ref names: its full id, its external id, or a
// prefix or suffix of at least 4 characters that only one run has.
func (b *Book) Lookup(ref string) (string, error) { return b.find(ref, b.search) }

// find returns the run that ref is all of the name of, or else what others finds.
func (b *Book) find(ref string, others func(v kv.View, ref string) (string, error)) (string, error) {
	var run string
	err := b.view(func(v kv.View) error {
		if ref == "" {
			return fmt.Errorf("%w: run %q", ErrNotFound, ref)
		}
		found, err := hasChain(v, ref)
		if found || err != nil {
			run = ref
			return err
		}
		var ext external
		err = b.external(v, ref, &ext)
		if err == nil {
			run = ext.Run
			if found, err = hasChain(v, run); err == nil && !found {
				return headless(run)
			}
			return err
		}
		if !errors.Is(err, ErrNotFound) || others == nil {
			return err
		}
		run, err = others(v, ref)
		return err
	})
	return run, err
}

// hasChain reports whether there is a run of this id. One that is damaged is
// there too, and the error says so.
func hasChain(v kv.View, run string) (bool, error) {
	_, err := kv.ReadHead(v, runPrefix(run))
	if !errors.Is(err, kv.ErrNotFound) {
		return err == nil, asUndecodable(run, err)
	}
	for _, err := range v.Scan(kv.Range{Prefix: runPrefix(run)}) {
		if err != nil {
			return false, err
		}
		return false, headless(run)
	}
	return false, nil
}

func headless(run string) error {
	return &UndecodableError{Run: run, Key: string(runPrefix(run)) + "h", Err: fmt.Errorf("the head of run %q is missing", run)}
}

// search looks for the one run whose id or external id begins or ends with ref.
func (b *Book) search(v kv.View, ref string) (string, error) {
	const shortest = 4
	found := map[string]string{} // run -> external id
	for item, err := range v.Scan(kv.Range{Prefix: prefixExternal}) {
		if err != nil {
			return "", err
		}
		var ext external
		if err := decode(item.Value, &ext); err != nil {
			return "", &UndecodableError{Key: string(item.Key), Err: err}
		}
		id := string(item.Key[len(prefixExternal):])
		for _, name := range []string{id, ext.Run} {
			if strings.HasPrefix(name, ref) || strings.HasSuffix(name, ref) {
				found[ext.Run] = id
			}
		}
	}
	switch {
	case len(found) == 1 && len(ref) >= shortest:
		for run := range found {
			return run, nil
		}
	case len(found) > 1:
		return "", fmt.Errorf("%w: %q fits %d runs; give more of the id", ErrNotFound, ref, len(found))
	case len(found) == 1:
		return "", fmt.Errorf("%w: %q is too short; give at least %d characters", ErrNotFound, ref, shortest)
	}
	return "", fmt.Errorf("%w: run %q", ErrNotFound, ref)
}

// Runs yields the ids of all runs, the newest first.
func (b *Book) Runs() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for from := prefixRun; ; {
			var run string
			err := b.view(func(v kv.View) (err error) {
				run, err = runBefore(v, from)
				return err
			})
			if err != nil {
				yield("", err)
				return
			}
			if run == "" || !yield(run, nil) {
				return
			}
			from = join(prefixRun, run)
		}
	}
}

// runBefore returns the run whose keys come before from (prefixRun: the last
// of all), or "". The keys of one run share r/RUN/, so this jumps from run to
// run. A start that was cut off may have left bodies without a head: that is
// no run.
func runBefore(v kv.View, from []byte) (string, error) {
	for {
		run, err := idBefore(v, from)
		if err != nil || run == "" {
			return "", err
		}
		if _, err = kv.ReadHead(v, runPrefix(run)); !errors.Is(err, kv.ErrNotFound) {
			return run, nil // whoever reads it finds out if it is damaged
		}
		from = join(prefixRun, run)
	}
}

func idBefore(v kv.View, from []byte) (string, error) {
	r := kv.Range{Prefix: prefixRun, Reverse: true, KeysOnly: true}
	if len(from) > len(prefixRun) {
		r.From = from // r/RUN sorts before r/RUN/
	}
	for item, err := range v.Scan(r) {
		if err != nil {
			return "", err
		}
		run, _, _ := bytes.Cut(item.Key[len(prefixRun):], []byte("/"))
		return string(run), nil
	}
	return "", nil
}
