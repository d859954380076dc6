package kvtest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-dev/pawl/kv"
)

var viewRules = []rule{
	{"an absent key", func(b *bundle) {
		b.view(func(v kv.View) error {
			if _, err := v.Get([]byte("absent")); !errors.Is(err, kv.ErrNotFound) {
				b.Errorf("got %v", err)
			}
			return nil
		})
	}},
	{"the error of the function comes back", func(b *bundle) {
		want := errors.New("mine")
		if err := b.store.View(func(kv.View) error { return want }); !errors.Is(err, want) {
			b.Errorf("got %v", err)
		}
	}},
	{"a view does not move", func(b *bundle) {
		b.must(b.store.Commit(set("k", "old", "gone", "x")))
		b.view(func(v kv.View) error {
			change := set("k", "new", "more", "x")
			change.Delete([]byte("gone"))
			b.must(b.store.Commit(change))
			b.has("k", "new")
			got, err := list(v, kv.Range{})
			if want := []string{"gone=x", "k=old"}; !slices.Equal(got, want) {
				b.Errorf("got %q, want %q", got, want)
			}
			return err
		})
	}},
	{"what Wait returned for is in the next view", func(b *bundle) {
		for i := range 100 {
			b.must(b.store.Commit(set("k", fmt.Sprint(i))))
			b.has("k", fmt.Sprint(i))
		}
	}},
	{"the caller owns what it got", func(b *bundle) {
		b.must(b.store.Commit(set("k1", "value", "k2", "value")))
		b.view(func(v kv.View) error {
			value, err := v.Get([]byte("k1"))
			if err != nil {
				return err
			}
			clear(value)
			for item, err := range v.Scan(kv.Range{}) {
				if err != nil {
					return err
				}
				clear(item.Key)
				clear(item.Value)
				_ = append(item.Key, "more"...)
				_ = append(item.Value, "more"...)
			}
			got, err := list(v, kv.Range{})
			if want := []string{"k1=value", "k2=value"}; !slices.Equal(got, want) {
				b.Errorf("got %q, want %q", got, want)
			}
			return err
		})
		b.has("k1", "value")
	}},
	{"the store does not keep what it is asked with", func(b *bundle) {
		b.must(b.store.Commit(set("k1", "1", "k2", "2")))
		b.view(func(v kv.View) error {
			prefix := []byte("k")
			var got []string
			for item, err := range v.Scan(kv.Range{Prefix: prefix}) {
				if err != nil {
					return err
				}
				prefix[0] = 'x'
				got = append(got, string(item.Key))
			}
			if want := []string{"k1", "k2"}; !slices.Equal(got, want) {
				b.Errorf("got %q, want %q", got, want)
			}
			return nil
		})
	}},
}

var scanRules = []rule{
	{"ranges", func(b *bundle) {
		b.must(b.store.Commit(set("a", "1", "b", "2", "b\x00", "3", "b1", "4", "b2", "5", "b\xff", "6", "b\xff\xff", "7", "c", "8", "\xff", "9", "\xff\xff", "10")))
		all := []string{"a=1", "b=2", "b\x00=3", "b1=4", "b2=5", "b\xff=6", "b\xff\xff=7", "c=8", "\xff=9", "\xff\xff=10"}
		for _, row := range []struct {
			name string
			r    kv.Range
			want []string
		}{
			{"everything", kv.Range{}, all},
			{"prefix", kv.Range{Prefix: []byte("b")}, all[1:7]},
			{"prefix of FF bytes", kv.Range{Prefix: []byte("\xff")}, all[8:]},
			{"prefix that ends in FF", kv.Range{Prefix: []byte("b\xff")}, all[5:7]},
			{"prefix without keys", kv.Range{Prefix: []byte("bb")}, nil},
			{"from a key", kv.Range{From: []byte("b1")}, all[3:]},
			{"from between keys", kv.Range{From: []byte("b11")}, all[4:]},
			{"from the empty key", kv.Range{From: []byte{}}, all},
			{"prefix from a key", kv.Range{Prefix: []byte("b"), From: []byte("b2")}, all[4:7]},
			{"prefix from before it", kv.Range{Prefix: []byte("b"), From: []byte("a")}, all[1:7]},
			{"prefix from behind it", kv.Range{Prefix: []byte("b"), From: []byte("c")}, nil},
		} {
			forward := row.want
			b.ranges(row.name, row.r, forward)
		}
		for _, row := range []struct {
			name string
			r    kv.Range
			want []string // forward
		}{
			{"everything", kv.Range{}, all},
			{"prefix", kv.Range{Prefix: []byte("b")}, all[1:7]},
			{"prefix of FF bytes", kv.Range{Prefix: []byte("\xff")}, all[8:]},
			{"prefix that ends in FF", kv.Range{Prefix: []byte("b\xff")}, all[5:7]},
			{"prefix before a key that follows at once", kv.Range{Prefix: []byte("b1")}, all[3:4]},
			{"prefix without keys", kv.Range{Prefix: []byte("bb")}, nil},
			{"from a key", kv.Range{From: []byte("b1")}, all[:4]},
			{"from between keys", kv.Range{From: []byte("b11")}, all[:4]},
			{"from the empty key", kv.Range{From: []byte{}}, nil},
			{"prefix from a key", kv.Range{Prefix: []byte("b"), From: []byte("b2")}, all[1:5]},
			{"prefix from before it", kv.Range{Prefix: []byte("b"), From: []byte("a")}, nil},
			{"prefix from behind it", kv.Range{Prefix: []byte("b"), From: []byte("c")}, all[1:7]},
		} {
			row.r.Reverse = true
			backward := slices.Clone(row.want)
			slices.Reverse(backward)
			b.ranges(row.name+" backwards", row.r, backward)
		}
	}},
	// The first key behind a prefix is where a backward scan begins.
	{"backwards leaves out the key behind the prefix", func(b *bundle) {
		b.must(b.store.Commit(set("p1", "x", "p2", "x", "q", "x")))
		b.ranges("p", kv.Range{Prefix: []byte("p"), Reverse: true}, []string{"p2=x", "p1=x"})
		b.ranges("p1", kv.Range{Prefix: []byte("p1"), Reverse: true}, []string{"p1=x"})
	}},
	{"keys only", func(b *bundle) {
		b.must(b.store.Commit(set("a", "1", "b", "2")))
		b.ranges("keys", kv.Range{KeysOnly: true}, []string{"a", "b"})
		b.ranges("keys backwards", kv.Range{KeysOnly: true, Reverse: true}, []string{"b", "a"})
	}},
	{"a scan can be left and begun again", func(b *bundle) {
		b.must(b.store.Commit(set("a", "1", "b", "2", "c", "3")))
		b.view(func(v kv.View) error {
			seq := v.Scan(kv.Range{})
			for range 2 {
				var got []string
				for item, err := range seq {
					if err != nil {
						return err
					}
					if got = append(got, string(item.Key)); len(got) == 2 {
						break
					}
				}
				if !slices.Equal(got, []string{"a", "b"}) {
					b.Errorf("got %q", got)
				}
			}
			return nil
		})
	}},
	{"overwritten and deleted keys appear once and never", func(b *bundle) {
		for i := range 5 {
			b.must(b.store.Commit(set("a", fmt.Sprint(i), "b", fmt.Sprint(i), "c", fmt.Sprint(i))))
		}
		remove := &kv.Batch{}
		remove.Delete([]byte("b"))
		b.must(b.store.Commit(remove))
		b.ranges("all", kv.Range{}, []string{"a=4", "c=4"})
		b.ranges("all backwards", kv.Range{Reverse: true}, []string{"c=4", "a=4"})
	}},
}

// ranges expects a scan to give want.
func (b *bundle) ranges(name string, r kv.Range, want []string) {
	b.Helper()
	b.view(func(v kv.View) error {
		b.Helper()
		got, err := list(v, r)
		if !slices.Equal(got, want) {
			b.Errorf("%s: got %q, want %q", name, got, want)
		}
		return err
	})
}
