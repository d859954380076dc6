package runtime_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// A damaged or unknown record stops its run, and only its run, and is named.
//
// Seen red with the running hash not looked at.
func TestUndecodableRecordStopsItsRunAlone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		damage func(t *testing.T, store kv.Store, prefix []byte)
	}{
		{"a record of an unknown format", func(t *testing.T, store kv.Store, prefix []byte) {
			commit(t, chain(t, store, prefix).Append([]byte{0xa2, 0x01, 0x18, 0x63, 0x02, 0x00}, nil)) // {1: 99, 2: 0}
		}},
		{"a record that is no record", func(t *testing.T, store kv.Store, prefix []byte) {
			commit(t, chain(t, store, prefix).Append([]byte("hello"), nil))
		}},
		{"a record with a field nobody knows", func(t *testing.T, store kv.Store, prefix []byte) {
			commit(t, chain(t, store, prefix).Append([]byte{0xa3, 0x01, 0x01, 0x02, 0x00, 0x18, 0x63, 0x00}, nil))
		}},
		{"a missing record", func(t *testing.T, store kv.Store, prefix []byte) {
			batch := new(kv.Batch)
			batch.Delete(entryKeys(t, store, prefix)[1])
			commit(t, store.Commit(batch))
		}},
		{"a missing head", func(t *testing.T, store kv.Store, prefix []byte) {
			batch := new(kv.Batch)
			batch.Delete(append(prefix[:len(prefix):len(prefix)], 'h'))
			commit(t, store.Commit(batch))
		}},
		{"one bit of a record flipped", func(t *testing.T, store kv.Store, prefix []byte) {
			batch := new(kv.Batch)
			key := entryKeys(t, store, prefix)[1]
			value := []byte(keysOf(t, store)[string(key)])
			value[len(value)/2] ^= 1
			batch.Set(key, value)
			commit(t, store.Commit(batch))
		}},
		{"one bit of the head's version flipped", func(t *testing.T, store kv.Store, prefix []byte) {
			batch := new(kv.Batch)
			key := append(prefix[:len(prefix):len(prefix)], 'h')
			value := []byte(keysOf(t, store)[string(key)])
			value[0] ^= 1
			batch.Set(key, value)
			commit(t, store.Commit(batch))
		}},
		{"a changed record", func(t *testing.T, store kv.Store, prefix []byte) {
			batch := new(kv.Batch)
			batch.Set(entryKeys(t, store, prefix)[1], []byte{0xa2, 0x01, 0x01, 0x02, 0x00})
			commit(t, store.Commit(batch))
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var flaky counter
			tools := []host.Tool{flaky.tool("flaky", host.Contract{Effect: host.Read}, func(n int64, _ *host.Call) (any, error) {
				if n <= 2 {
					return nil, host.NotApplied(errors.New("down"))
				}
				return nil, nil
			})}
			b := setup(t, tools...)
			w := b.deploy(folder(t, "", "tools = [\"flaky\"]\nretry = { attempts = 3, backoff = \"1h\", max_backoff = \"1h\" }"))
			bad := b.start(w, "bad", `{"one":[{"call":"flaky"}]}`)
			b.wait(bad, 0)
			b.wait(b.start(w, "good", `{"one":[{"call":"flaky"}]}`), 0)
			if err := b.engine.Close(); err != nil {
				t.Fatal(err)
			}
			row.damage(t, b.store, []byte("r/"+bad.ID()+"/"))
			if err := b.store.Close(); err != nil {
				t.Fatal(err)
			}
			b.open()
			_, err := b.engine.Find("bad")
			if err == nil {
				_, err = b.find(bad.ID()).Checkpoint()
			}
			if !errors.Is(err, pawl.ErrUndecodable) || !strings.Contains(err.Error(), "r/"+bad.ID()+"/") {
				t.Errorf("the damage is not named: %v", err)
			}
			for _, name := range []string{"bad", bad.ID()} {
				if _, err := b.engine.Find(name); errors.Is(err, pawl.ErrNotFound) {
					t.Errorf("%s is there: %v", name, err)
				}
			}
			if r, err := b.engine.Find("bad"); err == nil {
				if err := r.Resume(); !errors.Is(err, pawl.ErrUndecodable) {
					t.Errorf("resume: %v", err)
				}
			}
			good := b.find("good")
			if err := good.Resume(); err != nil {
				t.Fatal(err)
			}
			if c := b.rest(good); c.State != pawl.StateCompleted {
				t.Errorf("the other run: state %s, %+v", c.State, c.Reasons)
			}
			if err := b.engine.Check(); err == nil || !strings.Contains(err.Error(), bad.ID()) {
				t.Errorf("check: %v", err)
			}
			b.damaged = true
		})
	}
}

// A start that was cut off before its last batch leaves bodies behind, but no
// run.
func TestBodiesWithoutARunAreNoRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.deploy(folder(t, "", ""))
	b.rest(b.start(w, "r1", `{"one":[]}`))
	if _, err := kv.NewChain(b.store, []byte("r/01ZZZZZZZZZZZZZZZZZZZZZZZZ/")).Put(make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	commit(t, b.store.Commit(new(kv.Batch)))
	if runs := all(t, b.engine, pawl.Query{}); len(runs) != 1 || runs[0].ExternalID != "r1" {
		t.Errorf("%+v", runs)
	}
}

func chain(t *testing.T, store kv.Store, prefix []byte) *kv.Chain {
	t.Helper()
	var head kv.Head
	if err := store.View(func(v kv.View) (err error) {
		head, err = kv.ReadHead(v, prefix)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return kv.OpenChain(store, prefix, head)
}

// entryKeys are the keys of a chain but its head's and its bodies'.
func entryKeys(t *testing.T, store kv.Store, prefix []byte) (keys [][]byte) {
	t.Helper()
	if err := store.View(func(v kv.View) error {
		for item, err := range v.Scan(kv.Range{Prefix: append(prefix[:len(prefix):len(prefix)], 'e'), KeysOnly: true}) {
			if err != nil {
				return err
			}
			keys = append(keys, item.Key)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return keys
}

func commit(t *testing.T, p kv.Pending) {
	t.Helper()
	if err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}
