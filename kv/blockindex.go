package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"sort"

	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/y"
)

// blockIndex is the index of a table: where its blocks are, and which keys it
// does not have.
type blockIndex struct {
	file   string
	blocks []block
	filter y.Filter // empty if there is none
	size   int      // bytes that it takes in memory
}

// block is a piece of a table. Its key is the first one in it.
type block struct {
	key      []byte
	at, size int64
}

var errSum = errors.New("checksum does not fit")

// readIndex reads the index of a table, past Badger.
func readIndex(name string) (x *blockIndex, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := readTail(f)
	if err != nil {
		return nil, fmt.Errorf("index of %s: %w", name, err)
	}
	// The checksum fits, so the index is what Badger wrote.
	index := fb.GetRootAsTableIndex(data, 0)
	x = &blockIndex{file: name, filter: index.BloomFilterBytes(), size: len(data)}
	var at fb.BlockOffset
	for i := range index.OffsetsLength() {
		index.Offsets(&at, i)
		x.blocks = append(x.blocks, block{at.KeyBytes(), int64(at.Offset()), int64(at.Len())})
		x.size += 40 // of the block here
	}
	return x, nil
}

// readTail returns the index at the end of a table: it is followed by its
// length, its checksum and the length of that.
func readTail(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	tail := make([]byte, min(info.Size(), 64))
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil {
		return nil, err
	}
	rest, sum, err := cutSum(tail)
	if err != nil {
		return nil, err
	}
	if len(rest) < 4 {
		return nil, errSum
	}
	size := int64(binary.BigEndian.Uint32(rest[len(rest)-4:]))
	end := info.Size() - int64(len(tail)) + int64(len(rest)) - 4
	if size > end {
		return nil, errSum
	}
	index := make([]byte, size)
	if _, err := f.ReadAt(index, end-size); err != nil {
		return nil, err
	}
	if uint64(crc32.Checksum(index, castagnoli)) != sum {
		return nil, errSum
	}
	return index, nil
}

// cutSum cuts the checksum off the end of data: a protocol buffer of the
// algorithm, which is left out for CRC-32C, and the sum; then its length.
func cutSum(data []byte) (rest []byte, sum uint64, err error) {
	if len(data) < 4 {
		return nil, 0, errSum
	}
	rest = data[:len(data)-4]
	size := int64(binary.BigEndian.Uint32(data[len(rest):]))
	if size > int64(len(rest)) {
		return nil, 0, errSum
	}
	field := rest[int64(len(rest))-size:]
	rest = rest[:int64(len(rest))-size]
	if size == 0 {
		return rest, 0, nil // a sum of 0 is left out too
	}
	const sumField = 2 << 3
	sum, n := binary.Uvarint(field[1:])
	if field[0] != sumField || n != len(field)-1 {
		return nil, 0, errSum
	}
	return rest, sum, nil
}

// summed returns what is before the checksum at the end of a block, if that
// fits.
func summed(data []byte) ([]byte, error) {
	rest, sum, err := cutSum(data)
	if err == nil && uint64(crc32.Checksum(rest, castagnoli)) != sum {
		err = errSum
	}
	return rest, err
}

// mayHave reports whether some version of Badger's key may be in the table.
func (x *blockIndex) mayHave(key []byte) bool {
	return len(x.filter) == 0 || x.filter.MayContainKey(key)
}

// blockOf returns the number of the first block that may have key or one
// behind it.
func (x *blockIndex) blockOf(key []byte) int {
	behind := sort.Search(len(x.blocks), func(i int) bool { return y.CompareKeys(x.blocks[i].key, key) > 0 })
	return max(behind-1, 0)
}
