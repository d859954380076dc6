package kv

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"google.golang.org/protobuf/proto"
)

// takenBackName is the file that lists the tables which Badger has taken back.
//
// Badger announces new tables in its manifest. If it cannot sync that it removes
// them, and goes on with what they were made from; but the record may stay in
// the file, and a store whose manifest names a table that is not there is refused,
// rightly: a table that was lost looks the same. Only the process that saw it can
// tell, so it writes down which they are. The next opening takes the record out.
const takenBackName = "TAKEN-BACK"

// takenBack is the JSON of that file.
type takenBack struct {
	Tables []uint64 `json:"tables"` // their numbers, ascending
}

// inspect looks for tables that Badger has taken back, and writes them down, and
// for a record that was not written to its end. Either breaks the store: what is
// in its manifest is not known to be durable any more, and the next opening mends
// it. It is called when Badger complains, and when it is closed.
func (l *life) inspect() {
	l.inspecting.Lock()
	defer l.inspecting.Unlock()
	data, err := os.ReadFile(filepath.Join(l.path, badger.ManifestFilename))
	if err == nil {
		if _, next := stumpIn(data); next > 0 {
			_ = l.poison(errors.New("badger could not write a record of its manifest to its end"))
			return
		}
	}
	ids := unneeded(l.path, l.used)
	if len(ids) == 0 {
		return
	}
	err = writeTakenBack(l.path, ids)
	_ = l.poison(errors.Join(fmt.Errorf("badger could not sync its manifest, and took back tables %d", ids), err))
}

// lastInspection is the one after Badger is closed, when its tables are gone
// from memory.
func (l *life) lastInspection(closeBadger func()) {
	l.inspecting.Lock()
	used := tablesOf(l.db)
	l.used = func() map[uint64]bool { return used }
	l.inspecting.Unlock()
	closeBadger()
	l.inspect()
}

func tablesOf(db *badger.DB) map[uint64]bool {
	ids := map[uint64]bool{}
	for _, t := range db.Tables() {
		ids[t.ID] = true
	}
	return ids
}

// unneeded are the tables that the manifest names, that are not there, and that
// Badger does not use. One that is deleted in this moment loses its name first.
func unneeded(dir string, used func() map[uint64]bool) []uint64 {
	ids, _ := absent(dir) // it may be written just now
	if len(ids) == 0 {
		return nil
	}
	known := used()
	still, _ := absent(dir)
	return slices.DeleteFunc(ids, func(id uint64) bool { return known[id] || !slices.Contains(still, id) })
}

// absent are the tables that the manifest names and that are not there.
func absent(dir string) (ids []uint64, err error) {
	listed, err := readManifest(dir, badger.DefaultOptions(dir).WithLogger(nil))
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(listed)) {
		if isAbsent(dir, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func isAbsent(dir string, id uint64) bool {
	_, err := os.Stat(table.NewFilename(id, dir))
	return errors.Is(err, fs.ErrNotExist)
}

func readTakenBack(dir string) (t takenBack, err error) {
	text, err := os.ReadFile(filepath.Join(dir, takenBackName))
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	return t, err
}

// writeTakenBack adds tables to the list. The disk has just failed, so the list is
// put in its place even if it cannot be synced: it is there for the next process
// as long as the power is.
func writeTakenBack(dir string, ids []uint64) error {
	t, _ := readTakenBack(dir) // one that cannot be read is of no use
	t.Tables = append(t.Tables, ids...)
	slices.Sort(t.Tables)
	t.Tables = slices.Compact(t.Tables)
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, takenBackName)
	if err := os.WriteFile(name+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	err = syncFile(name + ".new")
	return errors.Join(err, os.Rename(name+".new", name), syncFile(dir))
}

// dropTakenBack takes the records out of the manifest in dir that announced
// tables which Badger has taken back. What else one of them told, which tables
// are not needed any more, goes with it: those are still there. A record that
// announced others too stays, and the store is refused for the table. The list
// goes as well: the next table gets a number on it. The directory must be locked.
func dropTakenBack(dir string) error {
	list := filepath.Join(dir, takenBackName)
	t, err := readTakenBack(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = rewriteManifest(dir, func(id uint64) bool { return slices.Contains(t.Tables, id) && isAbsent(dir, id) })
	} else if _, isPath := errors.AsType[*fs.PathError](err); !isPath {
		err = nil // it was not written to its end
	}
	if err != nil {
		return err
	}
	if missed, err := absent(dir); err != nil || len(missed) > 0 {
		return nil // said by whoever needs them, and the list is kept for when it is mended
	}
	return errors.Join(os.Remove(list), syncFile(dir))
}

// rewriteManifest leaves out the records all of whose new tables are gone. It
// changes nothing if a table would be missed all the same.
func rewriteManifest(dir string, gone func(id uint64) bool) error {
	name, data, err := manifestOf(dir)
	if err != nil {
		return err
	}
	at := min(manifestMagic, len(data))
	kept, named := bytes.Clone(data[:at]), map[uint64]bool{}
	for {
		end, whole := recordAt(data, at)
		if !whole {
			break
		}
		set := new(pb.ManifestChangeSet)
		if err := proto.Unmarshal(data[at+manifestHeader:end], set); err != nil {
			return nil // said by whoever needs it
		}
		if !announces(set, gone) {
			kept = append(kept, data[at:end]...)
			apply(set, named)
		}
		at = end
	}
	kept = append(kept, data[at:]...)
	for id := range named {
		if isAbsent(dir, id) {
			return nil
		}
	}
	if len(kept) == len(data) {
		return nil
	}
	return replaceFile(name, kept)
}

// apply does to the tables that are named what a record tells.
func apply(set *pb.ManifestChangeSet, named map[uint64]bool) {
	for _, c := range set.Changes {
		if c.Op == pb.ManifestChange_CREATE {
			named[c.Id] = true
		} else {
			delete(named, c.Id)
		}
	}
}

// announces reports whether a record's new tables are these and no others.
func announces(set *pb.ManifestChangeSet, these func(id uint64) bool) bool {
	created := 0
	for _, c := range set.Changes {
		if c.Op == pb.ManifestChange_CREATE {
			if created++; !these(c.Id) {
				return false
			}
		}
	}
	return created > 0
}
