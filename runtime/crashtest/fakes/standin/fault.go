package standin

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The modes of a fault.
const (
	modeOK         = "ok"            // forget the faults of the tool
	modeLost       = "lost"          // read it, do nothing, close the connection
	modeCommitHang = "commit-hang"   // do it, never answer
	modeCommit500  = "commit-500"    // do it, answer 500
	mode500        = "500-no-commit" // do nothing, answer 500
	modeSlow       = "slow"          // wait, then do it and answer, whoever still listens
	modeDupAck     = "dup-ack"       // a key that is known gets its first answer again
	modeHoldBefore = "hold-before"   // read it, announce it, never do it, never answer
	modeHoldAfter  = "hold-after"    // do it, announce it, never answer
)

var (
	modes    = []string{modeOK, modeLost, modeCommitHang, modeCommit500, mode500, modeSlow, modeDupAck, modeHoldBefore, modeHoldAfter}
	slowMode = regexp.MustCompile(`^slow\((\d{1,6})\)$`)
)

// slowWait is how long slow waits if it does not say.
const slowWait = 300 * time.Millisecond

// fault is the body of POST /_control.
type fault struct {
	Tool  string `json:"tool"`
	Mode  string `json:"mode"`
	Match string `json:"match,omitempty"` // in the address or the body
	Times int    `json:"times,omitempty"` // 0 is once, -1 for ever

	wait time.Duration
}

func (f *fault) check() error {
	if m := slowMode.FindStringSubmatch(f.Mode); m != nil {
		ms, err := strconv.Atoi(m[1])
		if err != nil {
			return err
		}
		f.Mode, f.wait = modeSlow, time.Duration(ms)*time.Millisecond
	} else if f.Mode == modeSlow {
		f.wait = slowWait
	}
	if !slices.Contains(modes, f.Mode) {
		return fmt.Errorf("no mode %q; there are %s", f.Mode, strings.Join(modes, ", "))
	}
	if f.Times == 0 {
		f.Times = 1
	}
	return nil
}

// faults are those that are set.
type faults struct {
	mu  sync.Mutex // guards set
	set []fault
}

func (fs *faults) add(f fault) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.set = slices.DeleteFunc(fs.set, func(old fault) bool {
		return old.Tool == f.Tool && (f.Mode == modeOK && f.Match == "" || old.Match == f.Match)
	})
	if f.Mode != modeOK {
		fs.set = append(fs.set, f)
	}
}

// next takes the fault of a request.
func (fs *faults) next(q *request) fault {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for i, f := range fs.set {
		if f.Tool != q.name() || !strings.Contains(q.uri, f.Match) && !strings.Contains(string(q.body), f.Match) {
			continue
		}
		if f.Times > 0 {
			fs.set[i].Times--
		}
		if f.Times == 1 {
			fs.set = slices.Delete(fs.set, i, i+1)
		}
		return f
	}
	return fault{Mode: modeOK}
}
