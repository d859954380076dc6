package kills_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// copyPlainly copies a directory as cp does: one file after the other, whatever
// happens to them meanwhile. Files that go away are left out.
func copyPlainly(t *testing.T, from, to string) {
	t.Helper()
	files, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	rand.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(from, file.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, file.Name()), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(rand.N(3 * time.Millisecond))
	}
}

// lookAt is a process that would go on with the runs of another directory.
func (w *world) lookAt(dir string) (documents map[string]*pawl.Checkpoint, said []told) {
	w.t.Helper()
	name := dir + ".jsonl"
	overwrite(w.t, name, nil)
	p := w.spawn(func(l *life) { l.Store, l.Want, l.Urge, l.Documents, l.Known = dir, 0, true, name, w.known() })
	if err := p.wait(); err != nil {
		w.t.Errorf("the process ended with %v", err)
	}
	if len(p.said) == 0 {
		w.t.Fatal("the process said nothing")
	}
	return readDocuments(w.t, name), p.said
}

// A directory is copied, file after file, while a process writes it. The copy
// is refused in words, or opens held at a point of the past; nothing is sent
// from it, though its runs are asked to go on. The original is none the worse.
func TestCopiedWhileItIsWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.spawn(nil)
	<-p.opened
	var made []string
	for i := range *copies {
		time.Sleep(rand.N(100 * time.Millisecond))
		made = append(made, w.path("copy"+string(rune('a'+i%26))+strings.Repeat("_", i/26)))
		copyPlainly(t, w.store(), made[i])
		if i%2 == 1 { // so that tables come and logs go
			p.kill()
			p = w.spawn(nil)
		}
	}
	p.kill()
	w.judge(w.drain())
	final := w.last
	before := len(w.outside.lines(0))
	opened, runs, torn := 0, 0, 0
	for _, dir := range made {
		documents, said := w.lookAt(dir)
		first := said[0]
		if first.What == "refused" {
			if !strings.Contains(first.Text, dir) {
				t.Errorf("refused with %q", first.Text)
			}
			continue
		}
		opened++
		if !strings.HasPrefix(first.Text, string(kv.Held)+" It is a copy") {
			t.Errorf("opened as %q", first.Text)
		}
		for id, c := range documents {
			if runs++; c.State == "" { // what it is made of was not copied at one time, and it says so
				torn++
			}
			if c.State != pawl.StateHeld && c.State != pawl.StateCompleted && c.State != "" {
				t.Errorf("%s is %s in the copy", id, c.State)
			}
			if is, was := seenOf(c), final[id]; is.Seq > was.Seq || is.Calls > was.Calls || is.Done > was.Done {
				t.Errorf("%s is at %+v in the copy, and at %+v in the original's end", id, is, was)
			}
		}
	}
	if news := w.outside.lines(before); len(news) > 0 {
		t.Errorf("%d lines outside, the first %+v", len(news), news[0])
	}
	t.Logf("%d copies, %d opened, with %d runs, %d of them torn", len(made), opened, runs, torn)
	if opened == 0 || runs == 0 {
		t.Error("no copy could be looked at")
	}
}

// The original goes on after it was moved. A copy of it, made when nobody had it
// open, is held: it would be right about the past, and the original is at work.
//
// Seen red with an anchor that takes any file for itself.
func TestMovedAndCopied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.spawn(nil)
	<-p.opened
	w.killWorking(p)
	w.outside.set("idle", 0)
	w.outside.set("quiet", 1)
	aside, before := w.path("copy"), len(w.outside.lines(0))
	copyPlainly(t, w.store(), aside)
	if _, said := w.lookAt(aside); !strings.HasPrefix(said[0].Text, string(kv.Held)+" It is a copy") {
		t.Errorf("the copy opened as %+v", said[0])
	}
	if news := w.outside.lines(before); len(news) > 0 {
		t.Errorf("%d lines outside, the first %+v", len(news), news[0])
	}
	moved := w.path("moved")
	if err := errors.Join(os.Rename(w.store(), moved), os.Rename(aside, w.store())); err != nil {
		t.Fatal(err)
	}
	documents, said := w.lookAt(moved)
	if said[0].Text != string(kv.Healthy)+" " {
		t.Errorf("the original opened as %+v", said[0])
	}
	if len(w.outside.lines(before)) == 0 || len(documents) < wanted {
		t.Error("the original did not go on")
	}
	w.judge(documents)
	if _, said := w.lookAt(w.store()); !strings.HasPrefix(said[0].Text, string(kv.Held)) {
		t.Errorf("the copy in the original's place opened as %+v", said[0])
	}
}

// killWorking kills a process when it has at least as many runs as are wanted
// under way.
func (w *world) killWorking(p *process) {
	for range 500 {
		began := 0
		for _, l := range w.outside.lines(0) {
			if l.Kind == lineEffect {
				began++
			}
		}
		if began > wanted {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	p.kill()
}
