// Package browsertest shows the panel in a real browser: people's ways through
// it, with real servers that are killed and real receivers whose ledgers count
// what happened. It is for this repository's tests only: there is nothing in it
// to import.
package browsertest
