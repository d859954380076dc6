// Package kv is the store below the runtime: ordered keys, atomic batches with
// requirements, a durable barrier, and the log of a run. It is for the runtime
// and for whoever writes another store; who only embeds Pawl calls [Open] and
// hands the result on. It is the only importer of Badger.
package kv
