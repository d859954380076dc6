package kv

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// A page of a log that is dirty in this process's mapping has been written and
// not synced. SIGKILL cannot show this: the page cache survives the process.
//
// Seen red with SyncWrites off.
func TestWaitSyncs(t *testing.T) {
	t.Parallel()
	for i := range 10 {
		if unsynced(t, &Options{noSync: true}) == 0 {
			t.Skipf("commit %d without a sync leaves no dirty page in /proc/self/smaps: this file system does not show it", i)
		}
		if kb := unsynced(t, nil); kb > 0 {
			t.Fatalf("%d kB of a log are not synced after Wait", kb)
		}
	}
}

// unsynced returns how many kB of the logs are dirty after a Wait.
func unsynced(t *testing.T, opts *Options) (kb int) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 20 {
		if err := s.Commit(set(fmt.Sprint(i), "some value")).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	all, err := mappings(dir)
	if err != nil {
		t.Skipf("no /proc/self/smaps here: %v", err)
	}
	logs := 0
	for _, m := range all {
		if filepath.Ext(m.path) == ".mem" {
			logs++
			kb += m.dirtyKB
		}
	}
	if logs == 0 {
		t.Fatalf("no mapped log among %v", all)
	}
	return kb
}

// Seen red without the advice.
func TestTablesDoNotFillTheMemory(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var last Pending
	for i := range 250 {
		last = s.Commit(set(fmt.Sprint(i), string(make([]byte, 100<<10))))
	}
	if err := last.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	resident := func() (kb int) {
		all, err := mappings(dir)
		if err != nil {
			t.Skipf("no /proc/self/smaps here: %v", err)
		}
		for _, m := range all {
			if filepath.Ext(m.path) == ".sst" {
				kb += m.residentKB
			}
		}
		return kb
	}
	// What the tables hold in memory is read through them, so that no flush
	// in the background changes it much.
	before := resident()
	if before < 1<<10 {
		t.Fatalf("only %d kB of tables are in memory, so this shows nothing", before)
	}
	after := before
	for range 100 { // another flush may come in between
		if err := trimTables(dir, 0); err != nil {
			t.Fatal(err)
		}
		if after = resident(); after <= before/2 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if after > before/2 {
		t.Errorf("%d kB of tables are in memory, %d kB before", after, before)
	}
	if got, err := value(t, s, "0"); len(got) != 100<<10 {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}
