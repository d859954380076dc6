package kvtest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/kv"
)

// modelRules compare the store with a map under random batches.
var modelRules = []rule{
	{"random batches against a map", func(b *bundle) {
		space := 0
		rapid.Check(b.TB, func(t *rapid.T) {
			// One store serves all examples, each under a prefix of its own:
			// opening one costs more than the example.
			space++
			m := &model{T: t, b: b, prefix: fmt.Sprintf("%d/", space), last: world{}, leases: map[string]term{}}
			acts := map[string]func(*rapid.T){
				"commit": m.commit,
				"wait":   m.wait,
				"reopen": m.reopen,
				"view":   m.view,
				"":       func(*rapid.T) {},
			}
			m.disasters(acts)
			t.Repeat(acts)
			m.settle()
		})
	}},
}

type model struct {
	*rapid.T
	b      *bundle
	prefix string
	last   world    // with everything queued applied
	queued []queued // not known to be durable
	leases map[string]term
}

// world is what keys and values there are.
type world map[string]string

type queued struct {
	p      kv.Pending
	fails  bool
	before world // without it and all behind it
}

var (
	someKey   = rapid.SampledFrom([]string{"", "a", "aa", "b", "b\xff", "c", "\x00", "\xff"})
	someValue = rapid.SampledFrom([]string{"", "1", "2", "33"})
)

func (m *model) key(t *rapid.T, label string) string { return m.prefix + someKey.Draw(t, label) }

func (m *model) commit(t *rapid.T) {
	batch, holds := m.requirements(t)
	next := maps.Clone(m.last)
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		key := m.key(t, "key")
		if rapid.Bool().Draw(t, "delete") {
			batch.Delete([]byte(key))
			delete(next, key)
			continue
		}
		value := someValue.Draw(t, "value")
		expires, expired := m.expires(t)
		batch.SetUntil([]byte(key), []byte(value), expires)
		if next[key] = value; expired {
			delete(next, key)
		}
	}
	batch.Urgent = rapid.IntRange(0, 9).Draw(t, "urgent") == 0
	if !holds {
		next = m.last
	}
	m.queue(batch, holds, next)
}

// queue commits a batch that makes the world next.
func (m *model) queue(batch *kv.Batch, holds bool, next world) {
	m.queued = append(m.queued, queued{m.b.store.Commit(batch), !holds, m.last})
	m.last = next
}

// requirements returns a batch with some, and whether all of them hold.
func (m *model) requirements(t *rapid.T) (*kv.Batch, bool) {
	batch, holds := &kv.Batch{}, true
	for range rapid.IntRange(0, 2).Draw(t, "requirements") {
		key := m.key(t, "required")
		value, there := m.last[key]
		switch rapid.SampledFrom([]string{"as it is", "a value", "absence"}).Draw(t, "requirement") {
		case "as it is":
			if there {
				batch.Require([]byte(key), []byte(value))
			} else {
				batch.RequireAbsent([]byte(key))
			}
		case "a value":
			other := someValue.Draw(t, "required value")
			batch.Require([]byte(key), []byte(other))
			holds = holds && there && value == other
		case "absence":
			batch.RequireAbsent([]byte(key))
			holds = holds && !there
		}
	}
	return batch, holds
}

// wait waits for one of the queued batches; those before it are done then.
func (m *model) wait(t *rapid.T) {
	if len(m.queued) == 0 {
		t.Skip()
	}
	n := rapid.IntRange(0, len(m.queued)-1).Draw(t, "batch")
	_ = m.queued[n].p.Wait(m.b.Context())
	for _, q := range m.queued[:n+1] {
		m.outcome(q)
	}
	m.queued = m.queued[n+1:]
}

func (m *model) outcome(q queued) {
	select {
	case <-q.p.Done():
	default:
		m.Fatal("a batch is not done although a later one is")
	}
	if err := q.p.Err(); q.fails != errors.Is(err, kv.ErrRequirement) || (!q.fails && err != nil) {
		m.Fatalf("got %v, want failure %v", err, q.fails)
	}
}

func (m *model) reopen(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "really") > 0 {
		t.Skip()
	}
	m.b.reopen()
	m.nextLife()
	m.settle()
}

// settle waits for everything queued and compares.
func (m *model) settle() {
	for _, q := range m.queued {
		_ = q.p.Wait(m.b.Context())
		m.outcome(q)
	}
	m.queued = nil
	m.compare(m.T)
}

func (m *model) view(t *rapid.T) {
	if len(m.queued) > 0 {
		_ = m.queued[len(m.queued)-1].p.Wait(m.b.Context())
	}
	m.compare(t)
}

// compare scans a random range in both directions and compares with the map.
func (m *model) compare(t *rapid.T) {
	r := kv.Range{Prefix: []byte(m.key(t, "prefix"))}
	if rapid.Bool().Draw(t, "has from") {
		r.From = []byte(m.key(t, "from"))
	}
	r.Reverse = rapid.Bool().Draw(t, "reverse")
	var want []string
	for _, key := range slices.Sorted(maps.Keys(m.last)) {
		behind := key >= string(r.From)
		if r.Reverse {
			behind = key <= string(r.From)
		}
		if strings.HasPrefix(key, string(r.Prefix)) && (r.From == nil || behind) {
			want = append(want, key+"="+m.last[key])
		}
	}
	if r.Reverse {
		slices.Reverse(want)
	}
	err := m.b.store.View(func(v kv.View) error {
		got, err := list(v, r)
		if !slices.Equal(got, want) {
			t.Fatalf("range %+v: got %q, want %q", r, got, want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
