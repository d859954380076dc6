package kv_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

const (
	memoryRuns    = 10_000
	memoryEntries = 25
)

// TestMemory measures what 10,000 ended runs cost: in the process that wrote
// them, and in one that opens the store and reads it. Set KV_MEMORY=1 to run it.
func TestMemory(t *testing.T) {
	if os.Getenv("KV_MEMORY") == "" {
		t.Skip("a measurement of a minute; set KV_MEMORY=1")
	}
	dir := t.TempDir()
	for _, name := range []string{"memory write", "memory read"} {
		for line := range strings.Lines(startChild(t, name, dir).rest()) {
			t.Log(strings.TrimSpace(line))
			if rss := statusKB(line, "VmRSS:"); rss > 60<<10 && !strings.Contains(line, "at once") {
				t.Errorf("%d kB is over the aim of 60 MiB", rss)
			}
		}
	}
}

// memoryWriteChild writes ended runs, a run's entries merged into few commits.
func memoryWriteChild(dir string) error {
	report("empty process")
	store, err := kv.Open(dir, nil)
	if err != nil {
		return err
	}
	report("empty store")
	random := rand.New(rand.NewPCG(1, 2))
	for i := range memoryRuns {
		run := kv.NewChain(store, memoryPrefix(i))
		var last kv.Pending
		for n := range memoryEntries {
			last = run.Append(memoryEntry(random, i, n), nil)
		}
		if i%10 == 9 {
			if err := last.Wait(context.Background()); err != nil {
				return err
			}
		}
	}
	report("all runs written, at once")
	time.Sleep(settle)
	report("all runs written, settled")
	if err := store.Close(); err != nil {
		return err
	}
	report("closed, " + diskUse(dir))
	return nil
}

// memoryReadChild opens the store and reads every run.
func memoryReadChild(dir string) error {
	plain, err := readTables(dir)
	if err != nil {
		return err
	}
	begun := time.Now()
	store, err := kv.Open(dir, nil)
	if err != nil {
		return err
	}
	took := time.Since(begun)
	report(fmt.Sprintf("opened in %v, %.1f times a plain read of the tables, at once", took, float64(took)/float64(plain)))
	time.Sleep(settle)
	report("opened again, settled")
	for i := range memoryRuns {
		err := store.View(func(v kv.View) error {
			if _, err := kv.ReadHead(v, memoryPrefix(i)); err != nil || i%100 > 0 {
				return err
			}
			entries, _, err := kv.ReadChain(v, memoryPrefix(i))
			if err == nil && len(entries) != memoryEntries {
				return fmt.Errorf("run %d has %d entries", i, len(entries))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	report("all heads and every 100th run read, at once")
	for i := range memoryRuns {
		err := store.View(func(v kv.View) error {
			_, _, err := kv.ReadChain(v, memoryPrefix(i))
			return err
		})
		if err != nil {
			return err
		}
	}
	report("all runs read, at once")
	time.Sleep(settle)
	report("all runs read, settled")
	return store.Close()
}

func memoryPrefix(i int) []byte { return fmt.Appendf(nil, "run/%08d/", i*7919%memoryRuns) }

// memoryEntry returns a record of 300 to 900 bytes as a run has them: names
// that repeat, ids and hashes that do not.
func memoryEntry(random *rand.Rand, run, n int) []byte {
	hex := func(size int) string {
		out := make([]byte, size)
		for i := range out {
			out[i] = byte(random.Uint32())
		}
		return fmt.Sprintf("%x", out)
	}
	entry, err := json.Marshal(map[string]any{
		"kind": "receipt", "tool": "payments.refund", "n": n, "key": hex(16), "hash": "sha256:" + hex(32),
		"at": 1_700_000_000_000 + random.Int64N(1e9), "outcome": "applied", "status": 201,
		"response": map[string]any{"id": "rf_" + hex(8), "order": fmt.Sprint("W", run), "trace": hex(20 + random.IntN(280))},
	})
	if err != nil {
		panic(err)
	}
	return entry
}

// settle gives Badger and the trimmer the time to do what they do by and by.
const settle = 20 * time.Second

// report writes the memory of this process after a collection.
func report(what string) {
	runtime.GC()
	debug.FreeOSMemory()
	status, _ := os.ReadFile("/proc/self/status")
	fmt.Printf("%s:", what)
	for _, name := range []string{"VmRSS:", "RssAnon:", "RssFile:", "VmHWM:"} {
		fmt.Printf(" %s %d kB", name, statusKB(string(status), name))
	}
	fmt.Println()
}

// statusKB returns the number behind name in the text of a status file.
func statusKB(text, name string) int {
	_, rest, _ := strings.Cut(text, name)
	if fields := strings.Fields(rest); len(fields) > 0 {
		n, _ := strconv.Atoi(fields[0])
		return n
	}
	return 0
}

// readTables returns how long it takes to read all tables, the second time.
func readTables(dir string) (took time.Duration, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	piece := make([]byte, 1<<20)
	for range 2 {
		begun := time.Now()
		for _, name := range names {
			if err := readThrough(name, piece); err != nil {
				return 0, err
			}
		}
		took = time.Since(begun)
	}
	return took, err
}

func readThrough(name string, piece []byte) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		if _, err := f.Read(piece); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func diskUse(dir string) string {
	files, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
	var size int64
	for _, name := range files {
		if info, err := os.Stat(name); err == nil {
			size += info.Size()
		}
	}
	return fmt.Sprintf("%d MB in %d tables", size>>20, len(files))
}
