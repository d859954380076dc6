package kv

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"google.golang.org/protobuf/proto"
)

// Badger makes tables of what a killed process left while it opens, before there
// is a life to complain to: what it could not sync then is looked for when there
// is one.
//
// Seen red with complaints that come before the life forgotten.
func TestComplaintOfAnOpeningIsHeard(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opened, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*badgerStore)
	text, err := proto.Marshal(&pb.ManifestChangeSet{Changes: []*pb.ManifestChange{{Id: 77, Op: pb.ManifestChange_CREATE}}})
	if err != nil {
		t.Fatal(err)
	}
	record := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	record = append(binary.BigEndian.AppendUint32(record, crc32.Checksum(text, castagnoli)), text...)
	manifest, err := os.OpenFile(filepath.Join(dir, badger.ManifestFilename), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := manifest.Write(record); err != nil {
		t.Fatal(err)
	}
	if err := manifest.Close(); err != nil {
		t.Fatal(err)
	}
	log := &badgerLog{logger: s.logger}
	log.Errorf("error flushing memtable to disk: %v, retrying", os.ErrInvalid)
	l := newLife(s.lock, s.life.Load().db, 0, log)
	if err := l.health(); !errors.Is(err, ErrStoreBroken) {
		t.Errorf("the life is well: %v", err)
	}
	if list, err := readTakenBack(dir); err != nil || len(list.Tables) != 1 || list.Tables[0] != 77 {
		t.Errorf("the list is %v, %v", list, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	again, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if h := again.Health(); h.Condition != Healthy {
		t.Errorf("it is %s: %s", h.Condition, h.Reason)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
