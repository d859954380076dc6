package kills_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// tails takes from a directory what a power cut can take. It assumes of a file
// system what ext4, XFS and btrfs do:
//
//   - what was written into a file before a sync of it is there, and so is the
//     file's name if it was new;
//   - the last record of the manifest, of some 50 bytes, is written in order;
//   - of what was written behind the last sync, each sector is there or not
//     (zero, or as it was before), and the file's length is any between;
//   - a name is the old file or the new one after a rename;
//   - a deletion may be forgotten, but none is done before what was synced before it.
//
// before is the directory as the killed process found it.
type tails struct {
	logs, tables, manifests, anchors int // how many there were to cut
}

func (c *tails) cut(t *testing.T, dir string, before image) {
	t.Helper()
	now := imageOf(t, dir)
	anchor := anchorOf(t, dir)
	for _, name := range now.names(".mem") {
		if _, old := before[name]; old { // synced when it was opened, or cut already
			continue
		}
		data := now[name]
		end, written := durableEnd(data, anchor), writtenEnd(data)
		if written > end {
			c.logs++
			overwrite(t, filepath.Join(dir, name), cutBehind(data, end, written))
		}
	}
	grown := !bytes.Equal(before["MANIFEST"], now["MANIFEST"])
	for _, name := range now.names(".sst") {
		// A table is synced before the manifest names it.
		if _, old := before[name]; !old && !grown && len(now[name]) > 0 {
			c.tables++
			overwrite(t, filepath.Join(dir, name), cutBehind(now[name], 0, len(now[name])))
		}
	}
	if grown && len(before["MANIFEST"]) > 0 && bytes.HasPrefix(now["MANIFEST"], before["MANIFEST"]) && holds(now, before, ".mem", ".sst") {
		// Nothing that it makes superfluous was deleted, so it may not be synced.
		c.manifests++
		overwrite(t, filepath.Join(dir, "MANIFEST"), cutRecord(now["MANIFEST"], len(before["MANIFEST"])))
	}
	c.anchor(t, dir, before["STORE"])
	if err := os.WriteFile(filepath.Join(dir, "LOCK"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// anchor takes one of the anchor's numbers back to an earlier one: it is never
// synced.
func (c *tails) anchor(t *testing.T, dir string, before []byte) {
	t.Helper()
	name := filepath.Join(dir, "STORE")
	data := readFile(t, name)
	if len(before) < 1536 || bytes.Equal(before, data) || rand.IntN(2) == 0 {
		return
	}
	c.anchors++
	for _, at := range []int{512, 1024} {
		was, is := binary.BigEndian.Uint64(before[at:]), binary.BigEndian.Uint64(data[at:])
		if rand.IntN(2) == 0 && is > was {
			binary.BigEndian.PutUint64(data[at:], was+rand.Uint64N(is-was))
			binary.BigEndian.PutUint32(data[at+8:], crc32.Checksum(data[at:at+8], castagnoli))
		}
	}
	overwrite(t, name, data)
}

// manifest opens the store, which turns its log into a table, and then takes it
// back to the moment in which the manifest had just been written and not yet been
// synced: the log is still there.
func (c *tails) manifest(t *testing.T, dir string) {
	t.Helper()
	before := imageOf(t, dir)
	store, err := kv.Open(dir, nil)
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	now := imageOf(t, dir)
	from, to := len(before["MANIFEST"]), len(now["MANIFEST"])
	if from == to || !bytes.HasPrefix(now["MANIFEST"], before["MANIFEST"]) || !holds(now, before, ".sst") {
		return
	}
	c.manifests++
	for _, name := range before.names(".mem") {
		overwrite(t, filepath.Join(dir, name), before[name])
	}
	if rand.IntN(4) > 0 { // else the deletion was forgotten
		overwrite(t, filepath.Join(dir, "MANIFEST"), cutRecord(now["MANIFEST"], from))
	}
}

func holds(now, before image, endings ...string) bool {
	for _, ending := range endings {
		for _, name := range before.names(ending) {
			if len(now[name]) == 0 {
				return false
			}
		}
	}
	return true
}

// cutBehind loses some of what is between from and to: a tail is cut off or
// zero, or sectors are.
func cutBehind(data []byte, from, to int) []byte {
	data = bytes.Clone(data)
	at := from + rand.IntN(to-from)
	switch rand.IntN(4) {
	case 0:
		return data[:at]
	case 1:
		clear(data[at:])
	case 2: // all of it
		clear(data[from:])
	default:
		const sector = 512
		for at := from; at < to; at = (at/sector + 1) * sector {
			if rand.IntN(2) == 0 {
				clear(data[at:min(to, (at/sector+1)*sector)])
			}
		}
	}
	return data
}

// cutRecord loses the end of what is behind from: it is cut off, or two bytes of
// it at least are zero. One zero alone is taken for damage.
func cutRecord(data []byte, from int) []byte {
	data = bytes.Clone(data)
	if at := from + rand.IntN(len(data)-from-1); rand.IntN(2) == 0 {
		clear(data[at:])
	} else {
		data = data[:at]
	}
	return data
}

// killFlushing kills a process while it turns the log of the one before into a
// table.
func killFlushing(p *process, before image) {
	sees := func() bool {
		tables, _ := filepath.Glob(filepath.Join(p.w.store(), "*.sst"))
		for _, name := range tables {
			if _, old := before[filepath.Base(name)]; !old {
				return true
			}
		}
		return false
	}
	for end := time.Now().Add(150 * time.Millisecond); !sees() && time.Now().Before(end); {
		time.Sleep(100 * time.Microsecond)
	}
	time.Sleep(rand.N(2 * time.Millisecond))
	p.kill()
}

// The power fails while fifty runs are at work: the process is gone, and so is
// any part of what was not synced. Everything that was acknowledged is there in
// the next life, the store is not held for it, and nothing is applied twice.
//
// Seen red with synced commits among what is lost and an anchor that does not
// tell, and without a torn record of the manifest being cut off.
func TestPowerFailsUnderRuns(t *testing.T) {
	t.Parallel()
	w, m, cut := newWorld(t), new(moments), new(tails)
	for i := range *kills {
		before := image{}
		if i > 0 {
			before = imageOf(t, w.store())
		}
		p := w.spawn(nil)
		if i%3 == 1 {
			killFlushing(p, before)
		} else {
			m.kill(p)
		}
		cut.cut(t, w.store(), before)
		if i%3 == 2 {
			cut.manifest(t, w.store())
		}
	}
	documents := w.drain()
	w.judge(documents)
	for _, r := range w.records {
		if r.What == "open" && r.Text != string(kv.Healthy)+" " {
			t.Errorf("opened as %q", r.Text)
		}
	}
	t.Logf("%d kills, %d runs, %+v cut", *kills, len(documents), *cut)
	if cut.logs+cut.tables == 0 || cut.manifests == 0 || len(documents) < *kills {
		t.Error("hardly anything was tried")
	}
}
