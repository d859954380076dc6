package kills_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// frozen is a world whose process was killed at work, and to which it can be
// taken back: its directory and the receivers.
type frozen struct {
	*world
	image image
	lines int
}

// freeze has some processes live and die, so that there are tables and a log,
// and the last one die in the middle of its work.
func freeze(t *testing.T) *frozen {
	t.Helper()
	w, m := newWorld(t), new(moments)
	for range 4 {
		m.kill(w.spawn(nil))
	}
	f := &frozen{world: w}
	for range 50 {
		p := w.spawn(nil)
		<-p.opened
		m.kill(p)
		w.outside.set("idle", 0)
		f.image = imageOf(t, w.store())
		log := f.log()
		if entries := entriesOf(f.image[log]); len(entries) > 200 && len(f.image.names(".sst")) > 0 {
			w.outside.set("quiet", 1)
			f.lines = len(w.outside.lines(0))
			return f
		}
	}
	t.Fatal("no life left both a table and a log")
	return nil
}

// log is the log that was written last.
func (f *frozen) log() string {
	names := f.image.names(".mem")
	if len(names) == 0 {
		return ""
	}
	return names[len(names)-1]
}

// back takes the world back.
func (f *frozen) back() {
	f.t.Helper()
	f.image.restore(f.t, f.store())
	f.image["STORE"] = readFile(f.t, filepath.Join(f.store(), "STORE"))
	f.outside.set("back", f.lines)
}

// verdict is how a damaged store was met.
type verdict string

const (
	refusedIt  verdict = "refused"
	heldIt     verdict = "held"
	stoppedOne verdict = "stopped some runs"
	harmless   verdict = "harmless"
)

// open has a process go on with the world as it is, until nothing is left to do,
// and judges it. damaged is the file that was changed.
func (f *frozen) open(what, damaged string) verdict {
	f.t.Helper()
	documents, said := f.look()
	news := f.outside.lines(f.lines)
	f.keys(f.outside.lines(0))
	if len(said) == 0 {
		f.t.Errorf("%s: the process said nothing", what)
		return refusedIt
	}
	switch first := said[0]; {
	case first.What == "refused":
		f.t.Logf("%s: %s", what, first.Text)
		if !strings.Contains(first.Text, damaged) && !strings.Contains(first.Text, "corrupt record at") || len(news) > 0 {
			f.t.Errorf("%s: refused with %q, %d lines outside", what, first.Text, len(news))
		}
		return refusedIt
	case strings.HasPrefix(first.Text, string(kv.Held)):
		if len(news) > 0 || len(first.Text) < 60 {
			f.t.Errorf("%s: held with %q, and %d lines outside: %+v", what, first.Text, len(news), news[0])
		}
		for id, c := range documents {
			if c.State != pawl.StateHeld && c.State != pawl.StateCompleted && c.State != "" {
				f.t.Errorf("%s: held, and %s is %s", what, id, c.State)
			}
		}
		return heldIt
	}
	stopped := map[string]string{}
	for _, t := range said[1:] {
		switch t.What {
		case "failed", "undecodable", "lost":
			stopped[t.Run] = t.Text
			if !strings.Contains(t.Text, "corrupt record at") {
				f.t.Errorf("%s: %s %s: %s", what, t.What, t.Run, t.Text)
			}
		case "unlisted": // an ended run that cannot be read is listed without its name
			if at := slices.IndexFunc(said, func(o told) bool { return o.What == "undecodable" && strings.HasPrefix(t.Text, o.Run) }); at >= 0 {
				stopped[t.Run] = said[at].Text
				continue
			}
			f.t.Errorf("%s: %s is in no list: %s", what, t.Run, t.Text)
		}
	}
	f.others(what, documents, stopped)
	if len(stopped) > 0 {
		return stoppedOne
	}
	return harmless
}

// others judges the runs that were not stopped as ever, and what the stopped
// ones did before.
func (f *frozen) others(what string, documents map[string]*pawl.Checkpoint, stopped map[string]string) {
	f.t.Helper()
	of := map[string][]line{}
	for _, l := range f.outside.lines(0) {
		of[l.Run] = append(of[l.Run], l)
	}
	ids := maps.Clone(f.begun)
	for id := range documents {
		ids[id] = true
	}
	for id := range ids {
		c := documents[id]
		switch {
		case stopped[id] != "" || c != nil && stopped[c.Run] != "":
			f.orderOf(id, of[id])
		case c == nil:
			f.t.Errorf("%s: %s is lost without a word", what, id)
		default:
			f.run(id, c, of[id])
		}
	}
}

// look is a life that goes on with what is open and says what it finds.
func (f *frozen) look() (documents map[string]*pawl.Checkpoint, said []told) {
	f.t.Helper()
	name := f.path("looked.jsonl")
	overwrite(f.t, name, nil)
	p := f.spawn(func(l *life) { l.Want, l.Urge, l.Documents, l.Known = 0, true, name, f.known() })
	if err := p.wait(); err != nil {
		f.t.Errorf("the process ended with %v", err)
	}
	return readDocuments(f.t, name), p.said
}

// position chooses a byte of a kind of file, most often one that means
// something.
func (f *frozen) position(kind string) (name string, at int) {
	names := f.image.names(kind)
	if kind[0] != '.' {
		names = []string{kind}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return len(f.image[name]) == 0 })
	if len(names) == 0 {
		return "", 0
	}
	name = names[rand.IntN(len(names))]
	if kind == ".mem" && rand.IntN(3) > 0 {
		name = f.log()
	}
	data := f.image[name]
	if end := writtenEnd(data); end > 0 && rand.IntN(8) > 0 {
		return name, rand.IntN(end)
	}
	return name, rand.IntN(len(data))
}

// One byte of a store is flipped, anywhere in it. It is refused in words that name
// the file, or held because it lacks commits, and nothing is sent in either case;
// or it makes no difference.
//
// Seen red without the comparison with the anchor, and without the check of the
// tables.
func TestOneByteFlipped(t *testing.T) {
	t.Parallel()
	f := freeze(t)
	kinds := []string{".mem", ".sst", "MANIFEST", ".mem", "STORE", ".mem", ".sst", "KEYREGISTRY", ".vlog", "DISCARD"}
	met := map[string]map[verdict]int{}
	for i := range *flips {
		f.back()
		name, at := f.position(kinds[i%len(kinds)])
		if name == "" {
			continue
		}
		data := bytes.Clone(f.image[name])
		data[at] ^= 1 << rand.IntN(8)
		overwrite(t, filepath.Join(f.store(), name), data)
		v := f.open(fmt.Sprintf("byte %d of %s", at, name), name)
		kind := kinds[i%len(kinds)]
		if met[kind] == nil {
			met[kind] = map[verdict]int{}
		}
		met[kind][v]++
		if t.Failed() {
			break
		}
	}
	t.Logf("%d flips: %v", *flips, met)
	if met[".mem"][heldIt] == 0 || met[".sst"][refusedIt] == 0 || met["MANIFEST"][refusedIt] == 0 {
		t.Error("no flip hit what the store lives on")
	}
	if !t.Failed() {
		f.back()
		f.judge(f.drain())
	}
}

// One byte of a value is other than it was written, and every checksum of Badger
// fits: the record's own does not. What is stored under the key stops, and names
// it; everything else goes on.
func TestOneByteOfAValueFlipped(t *testing.T) {
	t.Parallel()
	f := freeze(t)
	log := f.log()
	var entries []entry
	for _, e := range entriesOf(f.image[log]) {
		if bytes.HasPrefix(e.key, []byte("\x01r/")) && len(e.value) > 0 {
			entries = append(entries, e)
		}
	}
	met := map[verdict]int{}
	for range max(2, *flips/4) {
		data := bytes.Clone(f.image[log])
		e := entries[rand.IntN(len(entries))]
		at := bytes.Index(data[e.at:e.end], e.value) + e.at + rand.IntN(len(e.value))
		data[at] ^= 1 << rand.IntN(8)
		binary.BigEndian.PutUint32(data[e.end-4:], crc32.Checksum(data[e.at:e.end-4], castagnoli))
		f.back()
		overwrite(t, filepath.Join(f.store(), log), data)
		met[f.open(fmt.Sprintf("a value under %q", e.key[1:]), log)]++
		if t.Failed() {
			break
		}
	}
	t.Logf("%v", met)
	if met[stoppedOne] == 0 || met[heldIt]+met[refusedIt] > 0 {
		t.Error("no run was stopped, or more than runs")
	}
	if !t.Failed() {
		f.back()
		f.judge(f.drain())
	}
}
