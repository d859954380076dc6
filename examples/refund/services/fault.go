package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The modes of a fault. Beside them a status from 400 to 599, such as "401" or
// "503", is answered without doing anything.
const (
	modeOK         = "ok"            // forget the faults of the tool
	modeLost       = "lost"          // read the request, close the connection, do nothing
	modeDown       = "down"          // the same, said of a whole service that is away
	modeCommitHang = "commit-hang"   // do it, never answer
	modeCommit500  = "commit-500"    // do it, answer 500
	mode500        = "500-no-commit" // do nothing, answer 500
	modeSlow       = "slow"          // wait, then do it and answer, whether or not anyone still listens
	modeDupAck     = "dup-ack"       // a key that is known gets its first answer again
	modeHoldBefore = "hold-before"   // read, announce it, never do it, never answer
	modeHoldAfter  = "hold-after"    // do it, announce it, never answer
)

// Fault is what a service does wrong with the next requests: the body of
// POST /_control. A new fault takes the place of an older one for the same tool
// and match.
type Fault struct {
	// Tool is the route, such as "pay.refund" or "pay.refund.verify".
	Tool string `json:"tool"`
	// Match restricts the fault to requests whose path or body contains it.
	Match string `json:"match,omitempty"`
	// Mode is one of those above; "slow(300)" waits 300 ms.
	Mode string `json:"mode"`
	// Times is how often it happens: 0 stands for once, -1 for ever.
	Times int `json:"times,omitempty"`
	// RetryAfter, in seconds, is sent as a header with a status.
	RetryAfter int `json:"retry_after,omitempty"`

	status int
	wait   time.Duration
}

var (
	plainModes = []string{
		modeOK, modeLost, modeDown, modeCommitHang, modeCommit500, mode500, modeDupAck, modeHoldBefore, modeHoldAfter,
	}
	slowMode   = regexp.MustCompile(`^slow\((\d{1,6})\)$`)
	statusMode = regexp.MustCompile(`^[45]\d\d$`)
	faultFlag  = regexp.MustCompile(`^([a-z.]+)(?:@([^=]+))?=([^:]+)(?::(-?\d+))?$`)
)

// check completes the fault.
func (f *Fault) check(tools []string) error {
	if !slices.Contains(tools, f.Tool) {
		return fmt.Errorf("no tool %q; there are %s", f.Tool, strings.Join(tools, ", "))
	}
	switch {
	case slices.Contains(plainModes, f.Mode):
	case slowMode.MatchString(f.Mode):
		ms, err := strconv.Atoi(slowMode.FindStringSubmatch(f.Mode)[1])
		if err != nil {
			return err
		}
		f.Mode, f.wait = modeSlow, time.Duration(ms)*time.Millisecond
	case statusMode.MatchString(f.Mode):
		status, err := strconv.Atoi(f.Mode)
		if err != nil {
			return err
		}
		f.status = status
	default:
		return fmt.Errorf("no mode %q; there are %s, slow(MS), and statuses such as 503", f.Mode, strings.Join(plainModes, ", "))
	}
	if f.Times < -1 {
		return fmt.Errorf("times %d: -1 is for ever", f.Times)
	}
	if f.Times == 0 {
		f.Times = 1
	}
	return nil
}

// parseFault reads TOOL[@MATCH]=MODE[:TIMES].
func parseFault(text string) (Fault, error) {
	m := faultFlag.FindStringSubmatch(text)
	if m == nil {
		return Fault{}, fmt.Errorf("%q is not TOOL[@MATCH]=MODE[:TIMES], such as pay.refund@W1007=commit-hang:1", text)
	}
	f := Fault{Tool: m[1], Match: m[2], Mode: m[3]}
	if m[4] != "" {
		times, err := strconv.Atoi(m[4])
		if err != nil {
			return Fault{}, err
		}
		f.Times = times
	}
	return f, nil
}

// faults are those that are set.
type faults struct {
	mu  sync.Mutex // guards set
	set []Fault
}

func (fs *faults) add(f Fault) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.set = slices.DeleteFunc(fs.set, func(old Fault) bool {
		return old.Tool == f.Tool && (f.Mode == modeOK && f.Match == "" || old.Match == f.Match)
	})
	if f.Mode != modeOK {
		fs.set = append(fs.set, f)
	}
}

// next takes the fault of a request; those with a match come first.
func (fs *faults) next(tool, path string, body []byte) Fault {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	found := -1
	for i, f := range fs.set {
		hit := f.Match == "" || strings.Contains(path, f.Match) || strings.Contains(string(body), f.Match)
		if f.Tool == tool && hit && (found < 0 || f.Match != "") {
			found = i
		}
	}
	if found < 0 {
		return Fault{Tool: tool, Mode: modeOK}
	}
	f := fs.set[found]
	if f.Times > 0 {
		fs.set[found].Times--
	}
	if f.Times == 1 {
		fs.set = slices.Delete(fs.set, found, found+1)
	}
	return f
}
