// Package kills ends processes over a real store at any moment, damages what they
// left, and counts what the receivers saw. It is for this repository's tests only.
package kills
