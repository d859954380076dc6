package kv

import (
	"bytes"
	"errors"
	"io"
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

// filesOf are the paths of the files in dir with an ending. The directory is no
// pattern: its name may have brackets.
func filesOf(dir, ending string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) == ending {
			names = append(names, filepath.Join(dir, entry.Name()))
		}
	}
	return names, err
}

// syncLogs makes durable what Badger is about to read from its logs, and shows
// from then on. A process that was killed between writing a commit and syncing
// it leaves the commit in the page cache. So does a sync that failed, but then
// the kernel takes the pages for clean and a second sync for done, so what the
// logs hold is written once more.
func syncLogs(dir string) error {
	logs, err := filesOf(dir, ".mem")
	if err != nil {
		return err
	}
	for _, log := range logs {
		if err := rewrite(log); err != nil {
			return err
		}
	}
	return syncFile(dir)
}

// rewrite writes the pages of a file that are not empty in place, and syncs it.
// Killed in the middle it has changed nothing.
func rewrite(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = rewritePages(f)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func rewritePages(f *os.File) error {
	page, empty := make([]byte, 4<<10), make([]byte, 4<<10)
	for at := int64(0); ; at += int64(len(page)) {
		n, err := f.ReadAt(page, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if !bytes.Equal(page[:n], empty[:n]) {
			if _, err := f.WriteAt(page[:n], at); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// syncFile syncs a file or a directory.
func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// replaceFile puts a file with this content in the place of the one of this name,
// if there is one, durably.
func replaceFile(name string, content []byte) error {
	err := os.WriteFile(name+".new", content, 0o600)
	if err == nil {
		err = syncFile(name + ".new")
	}
	if err == nil {
		err = os.Rename(name+".new", name)
	}
	if err == nil {
		err = syncFile(filepath.Dir(name))
	}
	return err
}
