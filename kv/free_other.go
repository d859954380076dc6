//go:build !(darwin || freebsd || linux)

package kv

func freeBytes(string) (bytes int64, known bool) { return 0, false }
