//go:build (linux || darwin || freebsd || netbsd || openbsd) && (amd64 || arm64)

package sandbox

import "syscall"

// reserve takes address space without memory behind it.
func reserve(size uint64) ([]byte, error) {
	return syscall.Mmap(-1, 0, int(size), syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
}

// commit puts memory, all zeros, behind a part of it.
func commit(part []byte) error {
	return syscall.Mprotect(part, syscall.PROT_READ|syscall.PROT_WRITE)
}

func giveBack(space []byte) { _ = syscall.Munmap(space) } // fails for what was never mapped
