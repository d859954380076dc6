//go:build !linux

package kv_test

var children = map[string]func(dir string) error{"hold": holdChild, "write": writeChild}
