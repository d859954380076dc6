//go:build linux && (amd64 || arm64)

package kv

import (
	"encoding/binary"
	"os"
	goruntime "runtime"
	"syscall"
	"unsafe"
)

// birth returns when a file was made, in nanoseconds, or 0 where the file
// system does not say. The number of a deleted file is given to a new one; the
// time is not.
func birth(f *os.File) int64 {
	const emptyPath, wantBirth, birthAt = 0x1000, 0x800, 80 // AT_EMPTY_PATH, STATX_BTIME, its place
	call := uintptr(332)
	if goruntime.GOARCH == "arm64" {
		call = 291
	}
	var stat [256]byte
	var path byte
	_, _, failed := syscall.Syscall6(call, f.Fd(), uintptr(unsafe.Pointer(&path)), emptyPath, wantBirth, uintptr(unsafe.Pointer(&stat)), 0)
	if failed != 0 || binary.NativeEndian.Uint32(stat[:])&wantBirth == 0 {
		return 0
	}
	return int64(binary.NativeEndian.Uint64(stat[birthAt:]))*1e9 + int64(binary.NativeEndian.Uint32(stat[birthAt+8:]))
}
