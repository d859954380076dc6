package journal

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
)

// commit is an entry on its way to the disk.
type commit struct {
	done   chan struct{}
	err    error
	number uint64
}

func newCommit(number uint64, err error) *commit {
	return &commit{done: make(chan struct{}), err: err, number: number}
}

func (c *commit) Wait(context.Context) error { <-c.done; return c.err }
func (c *commit) Done() <-chan struct{}      { return c.done }
func (c *commit) Err() error                 { return c.err }
func (c *commit) Number() uint64             { return c.number }

// Entries are told in their order, whichever becomes durable first, those of one
// commit as merged, one that failed not at all; and closing waits for the rest.
//
// Seen red with a goroutine for each entry, with a failed one told, and with a
// closing that does not wait.
func TestObserverIsToldInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []string
		n := &notifier{observe: func(e Event) {
			told = append(told, e.Step+map[bool]string{true: " merged"}[e.Merged])
		}}
		commits := []*commit{newCommit(1, nil), newCommit(2, errors.New("lost")), newCommit(3, nil), newCommit(3, nil)}
		for i, c := range commits {
			n.add(c, []Event{{Step: strconv.Itoa(i)}})
		}
		for _, c := range slices.Backward(commits[1:]) {
			close(c.done)
		}
		synctest.Wait()
		if len(told) > 0 {
			t.Errorf("told %q before the first entry was durable", told)
		}
		closed := false
		go func() {
			n.close()
			closed = true
		}()
		synctest.Wait()
		if closed {
			t.Error("closed with an entry that is not told")
		}
		close(commits[0].done)
		synctest.Wait()
		if want := []string{"0", "2", "3 merged"}; !closed || !slices.Equal(told, want) {
			t.Errorf("closed %v, told %q, want %q", closed, told, want)
		}
		// Going on after a rest takes a goroutine anew, and knows what was last.
		late := newCommit(3, nil)
		close(late.done)
		<-n.add(late, []Event{{Step: "4"}})
		if told[len(told)-1] != "4 merged" {
			t.Errorf("told %q", told)
		}
		n.close()
	})
}

// A run waits for an observer that is slow, so that what is to be told stays
// bounded, and goes on when there is room.
//
// Seen red without the bound, and with nobody told of the room.
func TestRunWaitsForASlowObserver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := 0
		n := &notifier{observe: func(Event) { told++ }}
		held := newCommit(1, nil)
		n.add(held, []Event{{}}) // the goroutine holds it: the queue is empty
		synctest.Wait()
		added := 0
		go func() {
			done := newCommit(2, nil)
			close(done.done)
			for range 2 * maxNotices {
				n.add(done, []Event{{}})
				added++
			}
		}()
		synctest.Wait()
		if added != maxNotices {
			t.Errorf("%d entries wait, want %d", added, maxNotices)
		}
		close(held.done)
		synctest.Wait()
		if n.close(); added != 2*maxNotices || told != 2*maxNotices+1 {
			t.Errorf("added %d, told %d", added, told)
		}
	})
}
