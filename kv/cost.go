package kv

import "github.com/dgraph-io/badger/v4"

// cost is what changes take of the room in a transaction.
type cost struct {
	entries, bytes int64
}

// entryOverhead is at least what Badger counts for an entry besides its key and
// value: 22 bytes in version 4.9.
const entryOverhead = 32

func (s sealed) cost() cost {
	return cost{entries: 1, bytes: int64(len(s.key)+len(s.value)) + entryOverhead}
}

func (c *cost) add(other cost) {
	c.entries += other.entries
	c.bytes += other.bytes
}

func (c cost) within(limit cost) bool {
	return c.entries <= limit.entries && c.bytes <= limit.bytes
}

// mergeLimit is below what Badger takes in one transaction, with room for the
// marker and Badger's own last entry, and below the value threshold.
func mergeLimit(db *badger.DB) cost {
	return cost{
		entries: db.MaxBatchCount() - 8,
		bytes:   min(db.MaxBatchSize(), valueThreshold) - 1<<10,
	}
}
