package kvtest_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/kv/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// disks keeps a disk for each directory of the suite.
type disks struct {
	opts kvtest.DiskOptions
	mu   sync.Mutex
	all  map[string]*kvtest.Disk
	of   map[kv.Store]*kvtest.Disk
}

func (d *disks) disk(dir string) *kvtest.Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all[dir] == nil {
		opts := d.opts
		opts.Seed += uint64(len(d.all))
		d.all[dir] = kvtest.NewDisk(&opts)
	}
	return d.all[dir]
}

func (d *disks) under(store kv.Store) *kvtest.Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.of[store]
}

func (d *disks) open(t testing.TB, dir string) kv.Store {
	t.Helper()
	disk := d.disk(dir)
	store, err := disk.Open()
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.of[store] = disk
	return store
}

var errDisk = errors.New("input/output error")

// config is the suite's for stores on disks, whose commits fail at a moment.
func config(opts kvtest.DiskOptions, fails kvtest.Moment) kvtest.Config {
	d := &disks{opts: opts, all: map[string]*kvtest.Disk{}, of: map[kv.Store]*kvtest.Disk{}}
	c := kvtest.Config{
		Open: d.open,
		Break: func(_ testing.TB, store kv.Store) {
			d.under(store).At(1, fails, func() error { return errDisk })
		},
		Cut:  func(_ testing.TB, store kv.Store) { d.under(store).Cut() },
		Fill: func(_ testing.TB, store kv.Store, full bool) { d.under(store).Fill(full) },
		Hold: func(_ testing.TB, dir string) { d.disk(dir).Hold("It is a copy.") },
		Pass: func(_ testing.TB, store kv.Store, t time.Duration) { d.under(store).Pass(t) },
	}
	if !opts.Shared {
		c.Lacks = map[kvtest.Ability]string{kvtest.Sharing: "one store at a time"}
	}
	return c
}

func TestConformance(t *testing.T) {
	for _, row := range []struct {
		name  string
		opts  kvtest.DiskOptions
		fails kvtest.Moment
	}{
		{"exclusive, before anything is written", kvtest.DiskOptions{}, kvtest.Asked},
		{"exclusive, in the sync", kvtest.DiskOptions{}, kvtest.Written},
		{"exclusive, after the sync", kvtest.DiskOptions{}, kvtest.Synced},
		{"shared, in the sync", kvtest.DiskOptions{Shared: true}, kvtest.Written},
		{"nothing survives", kvtest.DiskOptions{Survive: func(int) int { return 0 }}, kvtest.Written},
		{"everything survives", kvtest.DiskOptions{Survive: func(n int) int { return n }}, kvtest.Written},
	} {
		t.Run(row.name, func(t *testing.T) { kvtest.Exercise(t, config(row.opts, row.fails)) })
	}
}
