package kv_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dgraph-io/badger/v4/pb"
	"google.golang.org/protobuf/proto"

	"github.com/pawl-dev/pawl/kv"
)

// Where the disk took only the beginning of a manifest's record, and whole ones
// behind it, the store opens with all that they tell. A record whose length is
// damaged has the same look but for its checksum, and is refused.
//
// Seen red without the cut (a healthy store without its table, which was deleted),
// and with a cut that does not look at the checksum.
func TestStumpInTheManifest(t *testing.T) {
	t.Parallel()
	var created pb.ManifestChangeSet
	for id := range uint64(10) {
		created.Changes = append(created.Changes, &pb.ManifestChange{Id: 90 + id, Op: pb.ManifestChange_CREATE})
	}
	text, err := proto.Marshal(&created)
	if err != nil {
		t.Fatal(err)
	}
	record := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	record = binary.BigEndian.AppendUint32(record, crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
	record = append(record, text...)
	const first = 16 // behind the magic word and a record of nothing
	for name, row := range map[string]struct {
		change  func(data []byte) []byte
		refused bool
	}{
		"four bytes":       {func(data []byte) []byte { return slices.Insert(data, first, record[:4]...) }, false},
		"eight bytes":      {func(data []byte) []byte { return slices.Insert(data, first, record[:8]...) }, false},
		"almost all of it": {func(data []byte) []byte { return slices.Insert(data, first, record[:len(record)-1]...) }, false},
		"two stumps":       {func(data []byte) []byte { return slices.Insert(data, first, slices.Concat(record[:12], record[:9])...) }, false},
		"at the end":       {func(data []byte) []byte { return append(data, record[:12]...) }, false},
		"a length too large": {func(data []byte) []byte {
			whole := slices.Clone(data[first:])
			data[first+2]++
			return append(data, whole...)
		}, true},
		"a flipped byte": {func(data []byte) []byte { data[first+9] ^= 4; return append(data, record...) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			table, head := longRun(t, dir, []byte("run/"))
			manifest := filepath.Join(dir, "MANIFEST")
			data, err := os.ReadFile(manifest)
			if err == nil {
				err = os.WriteFile(manifest, row.change(data), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if row.refused {
				var damage *kv.DamageError
				if _, err := kv.Open(dir, nil); !errors.As(err, &damage) || damage.File != manifest {
					t.Errorf("opened with %v", err)
				}
			} else {
				hasRun(t, dir, head)
			}
			if _, err := os.Stat(table); err != nil {
				t.Error(err)
			}
		})
	}
}

// hasRun opens a store twice, and expects a healthy one with the run of [longRun].
func hasRun(t *testing.T, dir string, head kv.Head) {
	t.Helper()
	for range 2 {
		s := open(t, dir, nil)
		if h := s.Health(); h.Condition != kv.Healthy {
			t.Errorf("opened as %s: %s", h.Condition, h.Reason)
		}
		if err := s.View(func(v kv.View) error {
			_, is, err := kv.ReadChain(v, []byte("run/"))
			if is != head {
				t.Errorf("head %v, was %v", is, head)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
