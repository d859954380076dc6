package journal

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
)

// memory is a store in memory that never writes what nobody waits for: a test
// sees what is durable and what only will be.
type memory struct {
	rest
	mu      sync.Mutex
	durable map[string][]byte
	queue   []*queued
	commits uint64
	largest int // bytes of the largest batch
}

type queued struct {
	store  *memory
	batch  *kv.Batch
	done   chan struct{}
	err    error
	number uint64
}

func (m *memory) Exclusive() bool { return true }

func (m *memory) Close() error { return nil }

func (m *memory) Health() kv.Health { return kv.Health{Condition: kv.Healthy} }

func (m *memory) Commit(b *kv.Batch) kv.Pending {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := &queued{store: m, batch: b, done: make(chan struct{})}
	m.largest = max(m.largest, b.Size())
	m.queue = append(m.queue, q)
	if b.Urgent {
		m.flush()
	}
	return q
}

func (q *queued) Wait(context.Context) error {
	q.store.mu.Lock()
	defer q.store.mu.Unlock()
	q.store.flush()
	return q.err
}

func (q *queued) Done() <-chan struct{} { return q.done }
func (q *queued) Err() error            { return q.err }
func (q *queued) Number() uint64        { return q.number }

func (m *memory) flush() {
	m.commits++
	for _, q := range m.queue {
		q.number = m.commits
		q.err = m.apply(q.batch)
		close(q.done)
	}
	m.queue = nil
}

func (m *memory) apply(b *kv.Batch) error {
	for _, r := range b.Requirements {
		if value, there := m.durable[string(r.Key)]; there != (r.Value != nil) || !bytes.Equal(value, r.Value) {
			return kv.ErrRequirement
		}
	}
	for _, c := range b.Changes {
		if delete(m.durable, string(c.Key)); !c.Delete {
			m.durable[string(c.Key)] = c.Value
		}
	}
	return nil
}

func (m *memory) View(f func(kv.View) error) error {
	m.mu.Lock()
	snapshot := maps.Clone(m.durable)
	m.mu.Unlock()
	return f(memoryView(snapshot))
}

type memoryView map[string][]byte

func (v memoryView) Get(key []byte) ([]byte, error) {
	if value, there := v[string(key)]; there {
		return value, nil
	}
	return nil, kv.ErrNotFound
}

func (v memoryView) Scan(r kv.Range) iter.Seq2[kv.Item, error] {
	keys := slices.Sorted(maps.Keys(v))
	if r.Reverse {
		slices.Reverse(keys)
	}
	return func(yield func(kv.Item, error) bool) {
		for _, key := range keys {
			before := key < string(r.From)
			if r.Reverse {
				before = key > string(r.From)
			}
			if !strings.HasPrefix(key, string(r.Prefix)) || (r.From != nil && before) {
				continue
			}
			if !yield(kv.Item{Key: []byte(key), Value: v[key]}, nil) {
				return
			}
		}
	}
}

// shelf is a book in memory with one deployed workflow.
type shelf struct {
	t *testing.T
	*memory
	book *Book
}

// rest is what no test here uses.
type rest struct{ kv.Store }

const digest = "sha256:0badcafe"

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{t: t, memory: &memory{durable: map[string][]byte{}}}
	var err error
	if s.book, err = OpenBook(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"workflow.toml": []byte("pawl = 1")}
	if _, err := s.book.Deploy(t.Context(), digest, "test", "1", files, map[string][]byte{"a.wasm": []byte("wasm")}); err != nil {
		t.Fatal(err)
	}
	return s
}

// begin begins a run of two steps with the ids given.
func (s *shelf) begin(run, external string, limits Limits) *Run {
	s.t.Helper()
	start := &Start{Run: run, ExternalID: external, Workflow: "test", Digest: digest, Root: run, Steps: []string{"one", "two"}, Limits: limits}
	r, _, err := s.book.Begin(s.t.Context(), start, large('i'), [32]byte{1}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// large is a payload that is not kept in its record.
func large(c byte) []byte { return append(bytes.Repeat([]byte{c}, 5<<10), "...."...) }

// call makes a call of the tool through the run's ledger; without a receipt it
// stays open.
func (s *shelf) call(r *Run, index int, contract host.Contract, receipt *host.Receipt) {
	s.t.Helper()
	var step, attempt int
	r.Read(func(st *State) { step, attempt = st.Current, st.Steps[st.Current].Attempts })
	c := &host.Call{Tool: "tool", Attempt: attempt, Index: index, Body: large('q'), Try: 1}
	l := r.Ledger(step, "tool", c, contract, 0)
	if _, err := l.Intend(s.t.Context(), host.Intent{Call: c, Class: contract.Effect, Contract: contract}); err != nil {
		s.t.Fatal(err)
	}
	if receipt == nil {
		return
	}
	if err := l.Settle(s.t.Context(), *receipt); err != nil {
		s.t.Fatal(err)
	}
}

func applied() *host.Receipt {
	return &host.Receipt{Outcome: host.OutcomeApplied, Response: host.Response{Body: large('a')}}
}

// seq is how far the run has come durably.
func (s *shelf) seq(run string) (seq uint64) {
	s.t.Helper()
	if err := s.book.View(run, func(v *Snapshot) error { seq = v.Seq; return nil }); err != nil {
		s.t.Fatal(err)
	}
	return seq
}
