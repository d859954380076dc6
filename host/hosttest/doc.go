// Package hosttest tells a tool's author whether the tool keeps the promise of
// its effect class: one call of [Exercise] in a test, with a receiver of the
// author's whose books can be counted. Who only uses tools does not need it.
package hosttest
