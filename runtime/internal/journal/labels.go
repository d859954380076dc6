package journal

import (
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/kv"
)

// labelKeys are the keys under which a run is found by its labels.
func labelKeys(s *Start) [][]byte {
	var keys [][]byte
	for label, value := range s.Labels {
		keys = append(keys, join(labelPrefix(label, value), s.Run))
	}
	return keys
}

// labelPrefix is what the keys of all runs with the label begin with. Neither a
// label nor a value holds the zero byte.
func labelPrefix(label, value string) []byte {
	return join(prefixLabel, label, "\x00", value, "\x00")
}

// Labelled returns up to limit ids of the runs that have the label with that
// value, the newest first, that are older than before (empty: all).
func (b *Book) Labelled(label, value, before string, limit int) (runs []string, err error) {
	prefix := labelPrefix(label, value)
	r := kv.Range{Prefix: prefix, Reverse: true, KeysOnly: true}
	if before != "" {
		r.From = join(prefix, before)
	}
	err = b.view(func(v kv.View) error {
		runs = nil
		for item, err := range v.Scan(r) {
			if err != nil {
				return err
			}
			if run := string(item.Key[len(prefix):]); run != before {
				runs = append(runs, run)
			}
			if len(runs) == limit {
				break
			}
		}
		return nil
	})
	return runs, err
}

// labels compares the label index with the runs.
func (c *checker) labels() error {
	listed := map[string]bool{}
	for item, err := range c.view.Scan(kv.Range{Prefix: prefixLabel, KeysOnly: true}) {
		if err != nil {
			return err
		}
		key := string(item.Key)
		listed[key] = true
		run := key[strings.LastIndexByte(key, 0)+1:]
		if s, ok := c.states[run]; !ok || (s != nil && !slices.ContainsFunc(labelKeys(s.Start), func(k []byte) bool { return string(k) == key })) {
			c.note("run %s is listed under a label at %q that it does not have", run, key)
		}
	}
	for run, s := range c.states {
		if s == nil {
			continue
		}
		for _, key := range labelKeys(s.Start) {
			if !listed[string(key)] {
				c.note("run %s is not found by its label: %q is missing", run, key)
			}
		}
	}
	return nil
}
