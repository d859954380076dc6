// Package power cuts the power of random workflows, and compares what the receivers
// saw with a plain model. It is for this repository's tests only.
package power
