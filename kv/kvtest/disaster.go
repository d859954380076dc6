package kvtest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/kv"
)

// disasters adds to the acts of a model what the store and its hooks allow.
func (m *model) disasters(acts map[string]func(*rapid.T)) {
	if m.b.config.lacking([]Ability{Cutting}) == "" {
		acts["cut"] = m.cut
	}
	if m.b.config.lacking([]Ability{Breaking}) == "" {
		acts["break"] = m.crack
	}
	if m.b.config.lacking([]Ability{Leasing}) == "" {
		acts["lease"] = m.lease
	}
	if m.b.config.Pass != nil {
		acts["pass"] = m.pass
	}
}

// cut cuts the power; what is there then is a prefix of what was queued.
func (m *model) cut(t *rapid.T) {
	if rapid.IntRange(0, 4).Draw(t, "really") > 0 {
		t.Skip()
	}
	m.b.cut()
	m.nextLife()
	m.landed(t)
}

// nextLife lets the owners of leases that outlive a store take them again.
func (m *model) nextLife() {
	if m.b.store.Exclusive() {
		clear(m.leases)
	}
	for name, has := range m.leases {
		m.leases[name] = term{m.b.lease(m.b.store, name, has.owner, long), has.owner}
	}
}

// crack lets a commit fail and reopens the store.
func (m *model) crack(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "really") > 0 {
		t.Skip()
	}
	m.b.config.Break(m.b.TB, m.b.store)
	next := maps.Clone(m.last)
	next[m.prefix] = "cracked"
	m.queue(set(m.prefix, "cracked"), true, next)
	if err := m.queued[len(m.queued)-1].p.Wait(m.b.Context()); !errors.Is(err, kv.ErrStoreBroken) {
		t.Fatalf("got %v of a commit that was to fail", err)
	}
	m.b.mend()
	m.landed(t)
}

// landed finds out how much of what was queued has survived. Batches that
// somebody was told to be durable are not among it any more.
func (m *model) landed(t *rapid.T) {
	states := []world{m.last}
	for _, q := range slices.Backward(m.queued) {
		select {
		case <-q.p.Done():
		default:
			t.Fatal("a batch of a broken store is not done")
		}
		if q.p.Err() == nil {
			break // it was durable, and all before it
		}
		states = append(states, q.before)
	}
	got := world{}
	m.b.view(func(v kv.View) error {
		for item, err := range v.Scan(kv.Range{Prefix: []byte(m.prefix)}) {
			if err != nil {
				return err
			}
			got[string(item.Key)] = string(item.Value)
		}
		return nil
	})
	if !slices.ContainsFunc(states, func(w world) bool { return maps.Equal(w, got) }) {
		t.Fatalf("there is %q, which is none of %q", got, states)
	}
	m.last, m.queued = got, nil
}

// expires draws when a key is to expire, and whether it has then.
func (m *model) expires(t *rapid.T) (at time.Time, expired bool) {
	if m.b.config.lacking([]Ability{Expiring}) != "" {
		return time.Time{}, false
	}
	switch rapid.IntRange(0, 9).Draw(t, "expires") {
	case 0:
		return time.Now().Add(1e6 * time.Hour), false
	case 1:
		return time.Now().Add(-long), true
	}
	return time.Time{}, false
}

// term is what a model knows of a lease.
type term struct {
	kv.Lease
	owner string
}

// lease has some owner take, renew or release a name.
func (m *model) lease(t *rapid.T) {
	name := m.prefix + rapid.SampledFrom([]string{"n", "m"}).Draw(t, "name")
	owner := rapid.SampledFrom([]string{"anna", "ben", "cleo"}).Draw(t, "owner")
	ctx, has := m.b.Context(), m.leases[name]
	switch act := rapid.SampledFrom([]string{"take", "renew", "release"}).Draw(t, "act"); {
	case act == "take":
		l, err := m.b.store.Lease(ctx, []byte(name), owner, long)
		if free := has.Lease == nil || has.owner == owner; free != (err == nil) || !free && !errors.Is(err, kv.ErrLeased) {
			t.Fatalf("%s takes %q, which %q has: %v", owner, name, has.owner, err)
		}
		if err == nil {
			m.leases[name] = term{l, owner}
		}
	case has.Lease == nil:
		t.Skip()
	case act == "renew":
		if err := has.Renew(ctx, long); err != nil {
			t.Fatalf("renew: %v", err)
		}
	default:
		if err := has.Release(ctx); err != nil {
			t.Fatalf("release: %v", err)
		}
		delete(m.leases, name)
	}
}

// pass ends all leases.
func (m *model) pass(t *rapid.T) {
	if rapid.IntRange(0, 4).Draw(t, "really") > 0 {
		t.Skip()
	}
	m.b.pass(2 * long)
	clear(m.leases)
}

// String lets a failure say what a state is.
func (w world) String() string { return fmt.Sprintf("%q", map[string]string(w)) }
