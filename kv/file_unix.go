//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package kv

import (
	"io/fs"
	"syscall"
)

// inode returns the number of a file in its file system, and how many names
// the file has.
func inode(info fs.FileInfo) (number, names uint64) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Ino), uint64(stat.Nlink)
	}
	return 0, 1
}

// allocated is how many bytes of the disk a file takes; a log is longer, since
// most of it has never been written.
func allocated(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(stat.Blocks) * 512
	}
	return info.Size()
}
