//go:build !(linux && (amd64 || arm64))

package kv

import "os"

func birth(*os.File) int64 { return 0 }
