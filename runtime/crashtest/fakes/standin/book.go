package standin

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
)

// The kinds of a line.
const (
	KindRequest = "request" // something came in
	KindEffect  = "effect"  // something happened
	KindAnswer  = "answer"  // something was answered
)

// FileName is the ledger in its directory.
const FileName = "ledger.jsonl"

// Line is one line of the ledger.
type Line struct {
	N      int             `json:"n"`
	Kind   string          `json:"kind"`
	Tool   string          `json:"tool"`
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Key    string          `json:"key,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"` // as JSON, or as a text
	Mode   string          `json:"mode,omitempty"` // of a request: the fault that it met
	Status int             `json:"status,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
}

// book is the ledger. A line is on the disk when add returns.
type book struct {
	mu    sync.Mutex // guards what follows
	file  *os.File
	lines []Line
}

func openBook(dir string) (*book, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, FileName), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	return &book{file: f}, nil
}

func (b *book) add(l Line) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.write(l)
}

// write needs the lock.
func (b *book) write(l Line) error {
	l.N = len(b.lines) + 1
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if _, err := b.file.Write(append(text, '\n')); err != nil {
		return err
	}
	if err := b.file.Sync(); err != nil {
		return err
	}
	b.lines = append(b.lines, l)
	return nil
}

// effect is the first that a key had.
func (b *book) effect(tool, key string) (Line, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.find(tool, key)
}

func (b *book) find(tool, key string) (Line, bool) {
	for _, l := range b.lines {
		if key != "" && l.Kind == KindEffect && l.Tool == tool && l.Key == key {
			return l, true
		}
	}
	return Line{}, false
}

// apply writes an effect unless once is true and its key had one. It returns
// the effect that counts.
func (b *book) apply(l Line, once bool) (Line, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if first, ok := b.find(l.Tool, l.Key); ok && once {
		return first, nil
	}
	return l, b.write(l)
}

func (b *book) all() []Line {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Line{}, b.lines...)
}

func (b *book) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return errors.Join(b.file.Sync(), b.file.Close())
}
