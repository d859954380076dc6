package kv

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// makeDir makes dir and what is missing above it, and makes that durable:
// commits are of no use in a directory that a power cut takes away.
func makeDir(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	var parents []string
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		parents = append(parents, filepath.Dir(at))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, parent := range parents {
		if err := syncFile(parent); err != nil {
			return err
		}
	}
	return nil
}

// removeEmptyLogs removes logs without a byte. Badger makes and deletes a log
// in two steps; killed in between it leaves such a file, with which it does not
// open any more. The directory must be locked.
func removeEmptyLogs(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if ext := filepath.Ext(entry.Name()); ext != ".mem" && ext != ".vlog" {
			continue
		}
		info, err := entry.Info()
		if err == nil && info.Size() == 0 {
			err = os.Remove(filepath.Join(dir, entry.Name()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// syncRecovered makes durable what Badger just read from its logs. A process
// that was killed between writing a commit and syncing it leaves the commit in
// the page cache, where Open sees it although a power cut would still take it.
// A log that is gone by now has become a table, which Badger has synced.
func syncRecovered(dir string) error {
	logs, err := filepath.Glob(filepath.Join(dir, "*.mem"))
	if err != nil {
		return err
	}
	for _, log := range append(logs, dir) {
		if err := syncFile(log); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// syncFile syncs a file or a directory.
func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
