package kv

import (
	"fmt"
	"os"
)

// within returns a path that leads to an open directory wherever it is moved.
func within(dir string, handle *os.File) string {
	path := fmt.Sprintf("/proc/self/fd/%d", handle.Fd())
	own, err := handle.Stat()
	if err != nil {
		return dir
	}
	if there, err := os.Stat(path); err != nil || !os.SameFile(own, there) {
		return dir // there is no /proc
	}
	return path
}
