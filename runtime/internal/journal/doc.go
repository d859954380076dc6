// Package journal is the memory of a run: its records and their versions, the
// fold from records to state, the budgets, and the ledger that the effect
// protocol writes to. It is for package runtime alone; others read a run
// through its checkpoint document.
//
// A run is a chain of entries (package kv). Each entry holds one or more
// records that became true together; state is never stored, only folded from
// the records, so there is one place where a record gets its meaning.
package journal
