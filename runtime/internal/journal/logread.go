package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// LogLine is a line that a guest logged.
type LogLine struct {
	Step    string
	Attempt int
	N       int // from 0, in the attempt
	Call    int // the calls that the attempt had made
	At      time.Time
	Level   slog.Level
	Text    string
}

func logPrefix(run string) []byte { return append(runPrefix(run), 'l') }

// logKey is the key of a page: whose it is, and the number behind its last
// line. So the keys alone say how much there is.
func logKey(run string, s logScope, end uint32) []byte {
	key := logPrefix(run)
	for _, n := range []uint32{uint32(s.step), uint32(s.attempt), uint32(s.version), end} {
		key = binary.BigEndian.AppendUint32(key, n)
	}
	return key
}

// logPlace is what a key says.
func logPlace(run string, key []byte) (s logScope, end uint32, err error) {
	id := key[len(logPrefix(run)):]
	if len(id) != 16 {
		return s, 0, errors.New("not the key of a log's page")
	}
	n := func(i int) uint32 { return binary.BigEndian.Uint32(id[4*i:]) }
	return logScope{int(n(0)), int(n(1)), int(n(2))}, n(3), nil
}

// readLog fills in what the store has of the log of an attempt. All that was
// written of it is durable: the record of the re-entry was waited for.
func (r *Run) readLog(l *runLog) error {
	err := r.book.view(func(v kv.View) error {
		scope := logKey(r.id, l.scope, 0)
		for item, err := range v.Scan(kv.Range{Prefix: scope[:len(scope)-4], Reverse: true, KeysOnly: true}) {
			if err != nil {
				return err
			}
			_, end, err := logPlace(r.id, item.Key)
			if err != nil {
				return &UndecodableError{Run: r.id, Key: string(item.Key), Err: err}
			}
			if end < lastPage {
				l.kept = int(end)
				return nil
			}
			value, err := v.Get(item.Key)
			if err != nil {
				return err
			}
			if page, err := decodeLog(value); err == nil && page.Left != nil {
				l.left = *page.Left
			}
		}
		return nil
	})
	return asUndecodable(r.id, err)
}

func decodeLog(value []byte) (*logPage, error) {
	page := new(logPage)
	if err := decode(value, page); err != nil {
		return nil, err
	}
	if page.Format != Format {
		return nil, fmt.Errorf("format %d; this program knows format %d", page.Format, Format)
	}
	return page, nil
}

// Logs reads what the guests of a run logged, oldest first. With an error it
// returns the lines before the place that cannot be read.
func (b *Book) Logs(run string) (lines []LogLine, err error) {
	err = b.view(func(v kv.View) error {
		lines = []LogLine{}
		if _, err := kv.ReadHead(v, runPrefix(run)); errors.Is(err, kv.ErrNotFound) {
			return missing(v, run)
		} else if err != nil {
			return asUndecodable(run, err)
		}
		return readPages(v, run, func(s logScope, _ uint32, page *logPage) error {
			lines = page.appendTo(lines, s)
			return nil
		})
	})
	return lines, err
}

// readPages calls f with all pages of a run in order.
func readPages(v kv.View, run string, f func(s logScope, end uint32, page *logPage) error) error {
	for item, err := range v.Scan(kv.Range{Prefix: logPrefix(run)}) {
		if err != nil {
			return asUndecodable(run, err)
		}
		s, end, err := logPlace(run, item.Key)
		var page *logPage
		if err == nil {
			page, err = decodeLog(item.Value)
		}
		if err == nil {
			err = f(s, end, page)
		}
		if err != nil {
			return &UndecodableError{Run: run, Key: string(item.Key), Err: err}
		}
	}
	return nil
}

// appendTo appends the page's lines to those before it.
func (p *logPage) appendTo(lines []LogLine, s logScope) []LogLine {
	line := LogLine{Step: p.Step, Attempt: s.attempt, At: fromMicros(p.At)}
	if n := len(lines); n > 0 && lines[n-1].Step == p.Step && lines[n-1].Attempt == s.attempt {
		line.N = lines[n-1].N + 1
	}
	for _, text := range p.Lines {
		line.Call, line.Level, line.Text = text.Calls, slog.Level(text.Level), text.Text
		lines = append(lines, line)
		line.N++
	}
	if left := p.Left; left != nil {
		line.Call, line.Level = left.Calls, slog.LevelWarn
		line.Text = fmt.Sprintf("the log limit of this attempt is reached: %d more lines of %d bytes are left out", left.Lines, left.Bytes)
		lines = append(lines, line)
	}
	return lines
}

// logs compares the pages of a run's log with each other and with its state.
func (c *checker) logs(s *Snapshot) {
	var last logScope
	var n uint32
	err := readPages(c.view, s.Start.Run, func(at logScope, end uint32, page *logPage) error {
		if at != last {
			last, n = at, 0
		}
		switch {
		case at.step >= len(s.Steps) || s.Steps[at.step].Name != page.Step:
			return fmt.Errorf("a log of step %d, %q, which is not there", at.step, page.Step)
		case at.attempt == 0 || at.attempt > s.Steps[at.step].Attempts || at.version > len(s.Upgrades):
			return fmt.Errorf("a log of attempt %d of step %s, which is not there", at.attempt, page.Step)
		case (end == lastPage) != (page.Left != nil) || (page.Left == nil) != (len(page.Lines) > 0):
			return errors.New("a page of a log that is neither lines nor what was left out")
		case end != lastPage && end != n+uint32(len(page.Lines)):
			return fmt.Errorf("%d lines up to %d, behind line %d", len(page.Lines), end, n)
		}
		n = end
		return nil
	})
	if err != nil {
		c.note("%w", err)
	}
}
