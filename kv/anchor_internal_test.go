package kv

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// A number that is half written is never taken for a higher one: whatever part
// of it came to the disk, the one before is still there.
//
// Seen red with one slot for all numbers, and without the checksum.
func TestHalfWrittenNumberIsNotHigher(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, err := makeAnchor(dir, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	name := filepath.Join(dir, anchorName)
	for number := uint64(1); number < 600; number += 1 + number/3 {
		before, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		last := a.number
		a.advance(number)
		after, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for at := range after {
			if before[at] == after[at] {
				continue
			}
			var x anchor
			torn := append(bytes.Clone(after[:at]), before[at:]...)
			if !x.readSlots(torn) || x.number > number || x.number < last {
				t.Errorf("%d of %d cut off at byte %d: got %d", number, last, at, x.number)
			}
		}
		b, why, err := openAnchor(dir, a.logger)
		if err != nil || len(why) > 0 || b.number != number {
			t.Errorf("got %v, %v; want %d", b, why, number)
		}
		_ = b.close()
	}
}

func TestSameInodeOfAnotherTimeIsAnotherFile(t *testing.T) {
	t.Parallel()
	a := identity{inode: 7, birth: 100}
	for name, row := range map[string]struct {
		other identity
		want  bool
	}{
		"itself":           {identity{7, 100}, true},
		"another file":     {identity{8, 100}, false},
		"inode given anew": {identity{7, 101}, false},
		"no time is known": {identity{7, 0}, true},
		"another, no time": {identity{8, 0}, false},
	} {
		if got := a.same(row.other); got != row.want {
			t.Errorf("%s: got %v", name, got)
		}
		if got := row.other.same(a); got != row.want {
			t.Errorf("%s, the other way: got %v", name, got)
		}
	}
}

func FuzzAnchor(f *testing.F) {
	f.Add(anchorBytes(identity{1, 2}, 3))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) != anchorSize {
			return
		}
		id, err := parseAnchor(data)
		var a anchor
		if err == nil && a.readSlots(data) {
			again := anchorBytes(id, a.number)
			if !bytes.Equal(again[:anchorHeader+4], data[:anchorHeader+4]) {
				t.Errorf("%x is taken for %v", data[:anchorHeader+4], id)
			}
		}
	})
}
