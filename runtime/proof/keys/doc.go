// Package keys ends the process at every boundary of two runs that have one
// business key between them, and counts what became of it outside. It is for this
// repository's tests only.
package keys
