package journal

import (
	"bytes"
	"testing"
)

// Whatever bytes stand under a key that is no run's chain, they are refused or
// read as one record: it is written and read again as the same.
func FuzzRecords(f *testing.F) {
	f.Add(encode(Listing{Format: Format, ExternalID: "e", Workflow: "w", Phase: PhaseOpen, Pins: 1}))
	f.Add(encode(Listing{Format: Format + 1, Pins: 1}))
	f.Add(encode(logPage{Format: Format, Step: "a", Lines: []logText{{Calls: 1, Level: 4, Text: "t"}}}))
	f.Add(encode(logPage{Format: Format, Step: "a", Left: &leftOut{Calls: 1, Lines: 2, Bytes: 3}}))
	f.Add(encode(Business{Format: Format, Run: "r", Request: make([]byte, 32), First: 1, Tool: "t", Key: "k"}))
	f.Add(encode(stops{Format: Format, At: []int64{1, 2}}))
	f.Add(encode(life{Format: Format, Opened: 1}))
	f.Add(encode(external{Run: "r", Workflow: "w", Input: []byte{1}}))
	f.Add(encode(Deployed{}))
	f.Add(encode(identity{Format: Format}))
	f.Add([]byte{0xa1, 0x01, 0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}) // an array longer than memory
	f.Fuzz(func(t *testing.T, data []byte) {
		again[Listing](t, data)
		again[logPage](t, data)
		again[Business](t, data)
		again[stops](t, data)
		again[life](t, data)
		again[external](t, data)
		again[Deployed](t, data)
		again[identity](t, data)
		// Seen red with the format not looked at.
		if l, whole := decodeListing(data); whole && l.Format != Format {
			t.Errorf("a listing of format %d is taken for whole", l.Format)
		}
		page, err := decodeLog(data)
		if err != nil {
			return
		}
		want := len(page.Lines)
		if page.Left != nil {
			want++
		}
		if got := page.appendTo(nil, logScope{attempt: 1}); len(got) != want {
			t.Errorf("%d lines of a page that has %d", len(got), want)
		}
	})
}

// again reads data as a T and, if it is one, expects that what is written of it
// is read as the same.
func again[T any](t *testing.T, data []byte) {
	t.Helper()
	first, second := new(T), new(T)
	if decode(data, first) != nil {
		return
	}
	written := encode(first)
	if err := decode(written, second); err != nil {
		t.Fatalf("%x is read as %+v, which cannot be read again: %v", data, first, err)
	}
	if !bytes.Equal(encode(second), written) {
		t.Fatalf("%x is read as %+v, and that as %+v", data, first, second)
	}
}

// A key names its page of the log and no other, or is refused.
func FuzzLogPlace(f *testing.F) {
	f.Add("run", logKey("run", logScope{1, 2, 3}, 4)[len(logPrefix("run")):])
	f.Add("", []byte{})
	f.Add("r", make([]byte, 15))
	f.Add("r", bytes.Repeat([]byte{0xff}, 17))
	f.Fuzz(func(t *testing.T, run string, end []byte) {
		key := append(logPrefix(run), end...)
		// Seen red with longer keys allowed.
		s, lines, err := logPlace(run, key)
		if (err == nil) != (len(end) == 16) {
			t.Fatalf("%x: %v", key, err)
		}
		if err == nil && !bytes.Equal(logKey(run, s, lines), key) {
			t.Errorf("%x is taken for the key of %+v, %d", key, s, lines)
		}
	})
}
