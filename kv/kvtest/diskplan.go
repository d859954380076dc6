package kvtest

import (
	"bytes"
	"slices"

	"github.com/pawl-dev/pawl/kv"
)

// Moment is a place in a physical commit.
type Moment int

// The moments of a physical commit.
const (
	// Asked is when a store is about to write: nothing is on the disk and no
	// requirement was looked at. Other stores can commit meanwhile.
	Asked Moment = iota
	// Written is when everything is written and not synced. After a cut or a
	// failure any number of the batches is there. Other stores wait.
	Written
	// Synced is when everything is durable, and nobody has been told.
	Synced
)

// plan is something to do in a commit to come.
type plan struct {
	commit int // counted as Disk.asked
	moment Moment
	do     func() error
}

// At plans to call f in the nth physical commit from now on, at a moment of it;
// 1 is the next one. An error of f fails the commit and breaks the store. F may
// block, which makes the commit slow, and may use the disk and its stores: cut
// the power, commit with another store. It must not wait for a store that
// waits for the commit.
func (d *Disk) At(n int, m Moment, f func() error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.plans = append(d.plans, plan{commit: d.asked + n, moment: m, do: f})
}

// planned calls what is planned for a moment of a commit.
func (d *Disk) planned(commit int, m Moment) error {
	d.mu.Lock()
	var now, later []plan
	for _, p := range d.plans {
		if p.commit == commit && p.moment == m {
			now = append(now, p)
		} else {
			later = append(later, p)
		}
	}
	d.plans = later
	d.mu.Unlock()
	for _, p := range now {
		if err := p.do(); err != nil {
			return err
		}
	}
	return nil
}

// forget drops what was planned for a commit that has ended.
func (d *Disk) forget(commit int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.plans = slices.DeleteFunc(d.plans, func(p plan) bool { return p.commit == commit })
}

// readFault fails one read.
type readFault struct {
	prefix []byte
	err    error
}

// FailRead makes the next read of a key that begins with prefix fail with err,
// once: a Get, a step of a Scan, or the look at a required key, which breaks
// the store. A nil err lets all reads succeed again that were to fail.
func (d *Disk) FailRead(prefix []byte, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.reads = nil
		return
	}
	d.reads = append(d.reads, readFault{bytes.Clone(prefix), err})
}

// readable returns the fault of reading key, if there is one.
func (d *Disk) readable(key []byte) error {
	for i, f := range d.reads {
		if bytes.HasPrefix(key, f.prefix) {
			d.reads = append(d.reads[:i], d.reads[i+1:]...)
			return f.err
		}
	}
	return nil
}

// requirable returns the fault of reading what a batch requires.
func (d *Disk) requirable(b *kv.Batch) error {
	for _, r := range b.Requirements {
		if err := d.readable(r.Key); err != nil {
			return err
		}
	}
	return nil
}
