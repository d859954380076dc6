package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/host"
)

// books are a file to which lines are added. It knows nothing of keys, but each
// line has the key of the call that added it, so it can be asked.
type books struct {
	mu    sync.Mutex // guards the file and lines
	file  *os.File
	lines map[string]int // by key, from 1
}

// entry is a line of the books.
type entry struct {
	Account string `json:"account"`
	Text    string `json:"text"`
	Cents   int64  `json:"cents"`
	Key     string `json:"key"`
}

// entered is what the tool answers.
type entered struct {
	Line int `json:"line"`
}

// enterFunc is the tool's function.
type enterFunc func(ctx context.Context, c *host.Call, e entry) (entered, error)

func openBooks(name string) (*books, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	b := &books{file: file, lines: map[string]int{}}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var e entry
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			b.lines[e.Key] = len(b.lines) + 1
		}
	}
	return b, nil
}

func (b *books) close() error { return b.file.Close() }

// tool is the tool books.enter. Nothing keeps the file from taking an entry
// twice, so its class is verify: after a crash it is asked for the key before
// anything is written again. Nobody but this process writes to it, so what is not
// there is not on its way either: nothing has to settle.
func (b *books) tool(wrap func(enterFunc) enterFunc) host.Tool {
	enter := b.enter
	if wrap != nil {
		enter = wrap(enter)
	}
	return host.Func("books.enter", enter, &host.FuncOptions{
		Contract: host.Contract{Effect: host.Verify, Timeout: time.Second, Settle: time.Millisecond},
		Verify:   b.find,
	})
}

// enter adds a line. Its error is plain, which means that it is not known
// whether the line is there: Pawl asks.
func (b *books) enter(_ context.Context, c *host.Call, e entry) (entered, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.Key = c.Key.String()
	line, err := json.Marshal(e)
	if err != nil {
		return entered{}, host.Rejected(err)
	}
	if _, err := b.file.Write(append(line, '\n')); err != nil {
		return entered{}, err
	}
	if err := b.file.Sync(); err != nil {
		return entered{}, err
	}
	b.lines[e.Key] = len(b.lines) + 1
	return entered{Line: b.lines[e.Key]}, nil
}

// find says whether the key's line is there.
func (b *books) find(_ context.Context, c *host.Call) (any, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	line, ok := b.lines[c.Key.String()]
	return entered{Line: line}, ok, nil
}
