// Package disks runs workflows on disks that are full, broken, or forbidden. It is
// for this repository's tests only.
package disks
