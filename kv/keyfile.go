package kv

import (
	"bytes"
	"errors"
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
	return nil
}
