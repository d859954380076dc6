package kv_test

// children are the programs that tests run in processes of their own. Each is
// given the store's directory, writes lines that the test reads, and may read
// its input, which ends when the test wants it to.
var children = map[string]func(dir string) error{
	"hold":         holdChild,
	"write":        writeChild,
	"full":         fullChild,
	"stuck":        stuckChild,
	"limit":        limitChild,
	"memory write": memoryWriteChild,
	"memory read":  memoryReadChild,
}
