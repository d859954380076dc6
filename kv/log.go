package kv

// The keys of the attributes that this package logs.
const (
	attrDir   = "dir"
	attrError = "error"
	attrLevel = "badger_level"
	attrText  = "text"
)
