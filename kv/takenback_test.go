package kv_test

import (
	"bytes"
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

// What Badger has taken back is taken out of its manifest, and nothing else is: a
// table that is not on the list, or that was announced together with one that is
// there, may have been lost. The list is gone when it is of no use any more.
//
// Seen red with records that are left, with all that are absent taken for taken
// back, with records that announce others too taken out, and with a list that
// stays.
func TestTakenBackTables(t *testing.T) {
	t.Parallel()
	create := func(id uint64) *pb.ManifestChange { return &pb.ManifestChange{Id: id, Op: pb.ManifestChange_CREATE} }
	remove := func(id uint64) *pb.ManifestChange { return &pb.ManifestChange{Id: id, Op: pb.ManifestChange_DELETE} }
	const there, gone, other = 1, 70, 71
	for name, row := range map[string]struct {
		list    string
		records [][]*pb.ManifestChange
		refused string
		stays   bool // the list
	}{
		"of a log":               {list: `{"tables":[70]}`, records: [][]*pb.ManifestChange{{create(gone)}}},
		"of a merge":             {list: `{"tables":[70,71]}`, records: [][]*pb.ManifestChange{{create(gone), create(other), remove(there)}}},
		"two records":            {list: `{"tables":[70,71]}`, records: [][]*pb.ManifestChange{{create(gone)}, {create(other)}}},
		"no list":                {records: [][]*pb.ManifestChange{{create(gone)}}, refused: "000070.sst"},
		"not on the list":        {list: `{"tables":[70]}`, records: [][]*pb.ManifestChange{{create(gone)}, {create(other)}}, refused: "000070.sst", stays: true},
		"one of two":             {list: `{"tables":[70]}`, records: [][]*pb.ManifestChange{{create(gone), create(other)}}, refused: "000070.sst", stays: true},
		"a list that breaks off": {list: `{"tab`, records: [][]*pb.ManifestChange{{create(gone)}}, refused: "000070.sst", stays: true},
		"a list of no use":       {list: `{"tables":[1,70]}`},
		"half a list of no use":  {list: `{"tab`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			table, head := longRun(t, dir, []byte("run/"))
			if filepath.Base(table) != "000001.sst" {
				t.Fatalf("the table is %s", table)
			}
			list := filepath.Join(dir, "TAKEN-BACK")
			if row.list != "" {
				if err := os.WriteFile(list, []byte(row.list), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, changes := range row.records {
				announce(t, dir, changes)
			}
			if row.refused != "" {
				manifest := filepath.Join(dir, "MANIFEST")
				before, err := os.ReadFile(manifest)
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if after, err := os.ReadFile(manifest); err != nil || !bytes.Equal(after, before) {
						t.Errorf("the manifest was changed: %v", err)
					}
				}()
				var damage *kv.DamageError
				if _, err := kv.Open(dir, nil); !errors.As(err, &damage) || filepath.Base(damage.File) != row.refused {
					t.Errorf("opened with %v", err)
				}
			} else {
				hasRun(t, dir, head)
			}
			if _, err := os.Stat(list); (err == nil) != row.stays {
				t.Errorf("the list stays: %v", err)
			}
		})
	}
}

// announce appends a record to the manifest.
func announce(t *testing.T, dir string, changes []*pb.ManifestChange) {
	t.Helper()
	text, err := proto.Marshal(&pb.ManifestChangeSet{Changes: changes})
	if err != nil {
		t.Fatal(err)
	}
	record := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	record = binary.BigEndian.AppendUint32(record, crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
	f, err := os.OpenFile(filepath.Join(dir, "MANIFEST"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(slices.Concat(record, text)); err != nil {
		t.Fatal(err)
	}
}
