// Package guests runs modules that mean harm beside ordinary runs. It is for this
// repository's tests only.
package guests
