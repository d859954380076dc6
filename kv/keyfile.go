package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
)

// checkKeys returns a [DamageError] if Badger's file of keys, which has none
// since nothing is encrypted, is not what Badger takes for one. Badger's own
// error names no file, and leaves goroutines behind.
func checkKeys(dir string) error {
	const iv, text = 16, "Hello Badger" // Badger writes them first
	name := filepath.Join(dir, badger.KeyRegistryFileName)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(data) < iv || !bytes.HasPrefix(data[iv:], []byte(text)) {
		return &DamageError{File: name, Reason: "it does not begin as it should"}
	}
	return checkLogs(dir)
}

// checkLogs returns a [DamageError] for a log whose header names a key. Badger
// looks for that when it has changed the directory, and says and leaves as much.
func checkLogs(dir string) error {
	for _, ending := range []string{".mem", ".vlog"} {
		names, err := filesOf(dir, ending)
		if err != nil {
			return err
		}
		for _, name := range names {
			id, err := keyOf(name)
			if err != nil {
				return err
			}
			if id != 0 {
				return &DamageError{File: name, Reason: "its header names a key, and nothing is encrypted"}
			}
		}
	}
	return nil
}

// keyOf is the number of the key in a log's header, 0 for none.
func keyOf(name string) (id uint64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var header [20]byte // the number and a vector; a shorter file is none yet
	if _, err := io.ReadFull(f, header[:]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(header[:]), nil
}
