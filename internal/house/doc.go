// Package house holds the tests that keep this repository as it is meant to be:
// which package may import which, who alone knows a library, what a package
// comment says. It is for those who change Pawl; nothing imports it.
package house
