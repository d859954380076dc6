package kv

import (
	"bytes"
	"errors"
	"testing"
)

// Seen red with the checksum unchecked, and with the key left out of it.
func TestDamagedRecordIsNoticed(t *testing.T) {
	t.Parallel()
	store, err := Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := store.(*badgerStore)
	for name, change := range map[string]func([]byte) []byte{
		"bit of the value":      func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"bit of the checksum":   func(b []byte) []byte { b[2] ^= 0x80; return b },
		"unknown version":       func(b []byte) []byte { b[0] = 9; return b },
		"cut off":               func(b []byte) []byte { return b[:len(b)-1] },
		"longer":                func(b []byte) []byte { return append(b, 0) },
		"nothing":               func([]byte) []byte { return nil },
		"record of another key": func([]byte) []byte { return sealRecord([]byte("RECORD of another key"), []byte("value"), 0) },
	} {
		damage(t, s, name, change)
		_, err := value(t, s, name)
		wantCorrupt(t, name, err)
		err = s.View(func(v View) error {
			for _, err := range v.Scan(Range{Prefix: []byte(name)}) {
				return err
			}
			return nil
		})
		wantCorrupt(t, name+", scanned", err)
	}
}

func wantCorrupt(t *testing.T, key string, err error) {
	t.Helper()
	var bad *CorruptError
	if !errors.As(err, &bad) || !bytes.HasPrefix([]byte(key), bad.Key) {
		t.Errorf("%s: got %v, want a CorruptError that names the key", key, err)
	}
}

func FuzzOpenRecord(f *testing.F) {
	f.Add([]byte("key"), sealRecord([]byte("key"), []byte("value"), 0))
	f.Add([]byte("key"), sealRecord([]byte("key"), []byte("value"), 1_800_000_000))
	f.Add([]byte("key"), sealRecord([]byte("key"), make([]byte, 8), 0))
	f.Add([]byte{}, []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, key, stored []byte) {
		value, expires, err := openRecord(key, stored)
		if err == nil && !bytes.Equal(sealRecord(key, value, expires), stored) {
			t.Errorf("%x is taken for the record of %x", stored, value)
		}
	})
}

func FuzzDecodeHead(f *testing.F) {
	f.Add(Head{Epoch: 1, Seq: 2}.encode())
	f.Fuzz(func(t *testing.T, value []byte) {
		head, err := decodeHead([]byte("key"), value)
		if err == nil && !bytes.Equal(head.encode(), value) {
			t.Errorf("%x is taken for %v", value, head)
		}
	})
}
