package kvtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// Disk is a disk in memory with a [kv.Store] on it, for tests of crashes: its
// power can be cut, and whatever nobody was told to be durable may be lost
// then. It outlives its stores: [Disk.Open] after a cut is the next life.
//
// A store on it writes only when somebody waits for a batch, or for an urgent
// one; it has no linger. It has no goroutine of its own, but for commits while
// something is planned with [Disk.At]: those end when what was planned
// returns. One goroutine that uses a Disk gets the same from the same seed.
// All methods are safe for concurrent use.
type Disk struct {
	opts DiskOptions

	// writing is held during a physical commit, and taken before mu.
	writing sync.Mutex

	mu      sync.Mutex // guards what follows
	durable table
	stores  []*diskStore // open ones
	random  *rand.Rand
	now     time.Time
	number  uint64 // of the last physical commit
	asked   int    // physical commits begun, over all stores
	plans   []plan
	reads   []readFault
	closed  error // why nothing opens, if it does not
	leases  map[string]*lease
	full    bool
	held    string
}

// DiskOptions say what a [Disk] is like. The zero value works.
type DiskOptions struct {
	// Seed decides what survives a cut. Defaults to 0.
	Seed uint64
	// Survive says how many of n unsynced batches of a store survive a cut, the
	// oldest of them. Defaults to a random number from 0 to n.
	Survive func(n int) int
	// Shared disks can have several stores open at a time, as a database has
	// several clients: none is exclusive, and leases outlive the stores.
	// Defaults to one store at a time.
	Shared bool
	// Now is what the disk's clock shows until [Disk.Pass] moves it. Defaults to
	// the time when the disk is made.
	Now time.Time
}

// NewDisk returns an empty disk. Opts may be nil.
func NewDisk(opts *DiskOptions) *Disk {
	d := &Disk{leases: map[string]*lease{}}
	if opts != nil {
		d.opts = *opts
	}
	if d.now = d.opts.Now; d.now.IsZero() {
		d.now = time.Now()
	}
	d.random = rand.New(rand.NewPCG(d.opts.Seed, 0))
	if d.opts.Survive == nil {
		d.opts.Survive = func(n int) int { return d.random.IntN(n + 1) }
	}
	return d
}

// Open opens a store on the disk. If the disk is not shared and one is open
// already it fails with a [kv.LockedError].
func (d *Disk) Open() (kv.Store, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed != nil {
		return nil, d.closed
	}
	if !d.opts.Shared {
		if len(d.stores) > 0 {
			return nil, &kv.LockedError{Dir: "in memory", PID: os.Getpid()}
		}
		clear(d.leases)
	}
	s := &diskStore{disk: d, watchers: map[*watcher]bool{}}
	d.stores = append(d.stores, s)
	return s, nil
}

var errCut = errors.New("the power was cut")

// Cut cuts the power. Of the batches that nobody was told to be durable those
// survive that [DiskOptions.Survive] says, in their order. All stores that were
// open fail with [kv.ErrStoreBroken] from then on, and cannot be reopened.
func (d *Disk) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keep(d.stores)
	for _, s := range d.stores {
		s.dead = true
		s.breakLocked(errCut)
	}
	d.stores = nil
}

// Kill ends one store as the death of its process does, with the power on: what
// it had not written is lost.
func (d *Disk) Kill(store kv.Store) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := store.(*diskStore)
	s.dead = true
	s.breakLocked(errors.New("the process was killed"))
	d.remove(s)
}

func (d *Disk) remove(s *diskStore) {
	for i, open := range d.stores {
		if open == s {
			d.stores = append(d.stores[:i], d.stores[i+1:]...)
			return
		}
	}
}

// keep makes durable what survives of what the stores have not made durable.
// Batches of different stores land in any order. The caller holds mu.
func (d *Disk) keep(stores []*diskStore) {
	var rest [][]*diskPending
	for _, s := range stores {
		unsynced := append(s.taken[:len(s.taken):len(s.taken)], s.queue...)
		if n := d.opts.Survive(len(unsynced)); n > 0 {
			rest = append(rest, unsynced[:n])
		}
	}
	next := d.durable.clone()
	for len(rest) > 0 {
		i := d.random.IntN(len(rest))
		p := rest[i][0]
		if next.meets(p.batch, d.now) == nil {
			next.apply(p.batch)
		}
		if rest[i] = rest[i][1:]; len(rest[i]) == 0 {
			rest = append(rest[:i], rest[i+1:]...)
		}
	}
	d.durable = next
}

// Now is what the disk's clock shows. Leases and expiring keys go by it.
func (d *Disk) Now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

// Pass moves the disk's clock on.
func (d *Disk) Pass(t time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(t)
}

// Fill makes the disk full, or gives it space again. Commits on a full disk
// fail with [kv.ErrNoSpace].
func (d *Disk) Fill(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

// Hold makes the disk one whose stores are held, for good.
func (d *Disk) Hold(reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = reason
}

// FailOpen makes opening and reopening fail with err, until it is nil.
func (d *Disk) FailOpen(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = err
}

// Damage changes what is stored under key, or removes it if value is nil,
// behind the back of every store.
func (d *Disk) Damage(key, value []byte) {
	d.writing.Lock()
	defer d.writing.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	next := d.durable.clone()
	next.set(kv.Change{Key: key, Value: value, Delete: value == nil})
	d.durable = next
}

// String says how much there is on the disk.
func (d *Disk) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Sprintf("disk with %d keys after %d commits", len(d.durable.items), d.number)
}
