// Package build makes a step module, one .wasm file, of a folder with a Go
// package main. It is for the pawl command and for programs and tests that
// build steps themselves; authors of steps run "pawl build", and modules of
// other languages are built by their own tools.
//
// Equal sources give equal bytes: paths and version control are left out, and
// what the module says of itself is written into the file by the build, so that
// the digest of the file is the digest of what is deployed.
package build
