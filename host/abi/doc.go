// Package abi is what both sides of the sandbox share: the numbers, names and
// payload shapes of the pawl_v1 import module. It is for the runtime and for
// guest SDKs, and depends on the standard library alone; authors of steps use
// package steps instead.
package abi
