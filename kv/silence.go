package kv

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
)

// silence finds out whether Badger's silence can be believed. To Badger a block
// of a table that does not fit its checksum has no keys: a key in it is absent,
// or has the value before, and a scan ends early, all without an error. So where
// Badger says nothing, the blocks that could have said something are read once
// more, past Badger.
type silence struct {
	db  *badger.DB
	dir string

	// mu guards what follows.
	mu     sync.Mutex
	at     time.Time // when tables was made
	tables []badger.TableInfo
	index  map[uint64]*blockIndex // of the tables that were asked for
	size   int                    // bytes of index
}

const (
	// listEvery is how old the list of tables may be. A table that is not in it
	// yet has just been written from memory.
	listEvery = time.Second
	// indexLimit is how many bytes of indexes are kept.
	indexLimit = 8 << 20
)

func newSilence(db *badger.DB, dir string) *silence { return &silence{db: db, dir: dir} }

// span is a range of Badger's keys, the last one included.
type span struct{ first, last []byte }

// checkKey returns a [CorruptError] if a younger value of key than that of
// version, which is 0 if none was found, may be in a damaged block.
func (s *silence) checkKey(key []byte, version uint64) error {
	id := userKey(key)
	return s.check(key, span{id, id}, version, func(x *blockIndex) bool { return x.mayHave(id) })
}

// checkSpan returns a [CorruptError] that names prefix if a key of the span may
// be in a damaged block.
func (s *silence) checkSpan(prefix []byte, keys span) error {
	return s.check(prefix, keys, 0, func(*blockIndex) bool { return true })
}

func (s *silence) check(key []byte, keys span, version uint64, asked func(*blockIndex) bool) error {
	const tries = 3
	for try := 1; ; try++ {
		err := s.checkTables(s.list(try > 1), keys, version, asked)
		if err == nil {
			return nil
		}
		// Badger may have merged and deleted the table meanwhile, which the next
		// list tells.
		if try == tries {
			return corrupt(key, "it may be in a block that cannot be read: %v", err)
		}
	}
}

func (s *silence) checkTables(tables []badger.TableInfo, keys span, version uint64, asked func(*blockIndex) bool) error {
	for _, t := range tables {
		if t.MaxVersion <= version || bytes.Compare(y.ParseKey(t.Right), keys.first) < 0 || bytes.Compare(y.ParseKey(t.Left), keys.last) > 0 {
			continue
		}
		x, err := s.indexOf(t.ID)
		if err == nil && asked(x) {
			err = x.check(keys)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list returns the tables, made anew if they are old or the caller wants it.
func (s *silence) list(anew bool) []badger.TableInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !anew && !s.at.IsZero() && time.Since(s.at) < listEvery {
		return s.tables
	}
	s.at, s.tables = time.Now(), s.db.Tables()
	index := map[uint64]*blockIndex{}
	s.size = 0
	for _, t := range s.tables {
		if x := s.index[t.ID]; x != nil {
			index[t.ID] = x
			s.size += x.size
		}
	}
	s.index = index
	return s.tables
}

func (s *silence) indexOf(id uint64) (*blockIndex, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.index[id]; x != nil {
		return x, nil
	}
	x, err := readIndex(table.NewFilename(id, s.dir))
	if err != nil {
		return nil, err
	}
	if s.size += x.size; s.size > indexLimit {
		clear(s.index)
		s.size = x.size
	}
	s.index[id] = x
	return x, nil
}

// check reads the blocks that the keys of a span can be in.
func (x *blockIndex) check(keys span) error {
	f, err := os.Open(x.file)
	if err != nil {
		return err
	}
	defer f.Close()
	first, last := y.KeyWithTs(keys.first, math.MaxUint64), y.KeyWithTs(keys.last, 0)
	for i := x.blockOf(first); i < len(x.blocks); i++ {
		if y.CompareKeys(x.blocks[i].key, last) > 0 {
			return nil
		}
		if err := x.checkBlock(f, x.blocks[i]); err != nil {
			return err
		}
	}
	return nil
}

func (x *blockIndex) checkBlock(f *os.File, b block) error {
	data := make([]byte, b.size)
	_, err := f.ReadAt(data, b.at)
	if err == nil {
		_, err = summed(data)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s at byte %d: %w", x.file, b.at, err)
	}
	return err
}
