//go:build darwin || freebsd || linux

package kv

import "syscall"

// freeBytes is what this process may still write in the file system of dir.
func freeBytes(dir string) (bytes int64, known bool) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0, false
	}
	return int64(stat.Bavail) * int64(stat.Bsize), true
}
