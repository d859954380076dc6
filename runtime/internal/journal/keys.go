package journal

import (
	"encoding/binary"
	"time"
)

// The keys of the runtime. Every one begins with a letter that no other kind
// uses; kv/FORMAT.md lists them.
var (
	keyIdentity    = []byte("i")  // the store's identity
	prefixModule   = []byte("m/") // modules by digest (blobs)
	prefixDeployed = []byte("w/") // workflows by digest
	prefixNamed    = []byte("n/") // name of a workflow -> digest of what was deployed last
	prefixRun      = []byte("r/") // chains of runs: r/RUN/; r/RUN/l: what their guests logged
	prefixExternal = []byte("x/") // external id -> run
	prefixValue    = []byte("k/") // values that steps keep: k/r/RUN/key, k/w/WORKFLOW/key
	prefixBusiness = []byte("b/") // business keys of tools, by name
	prefixOpen     = []byte("o/") // runs that are not ended, with their listings
	prefixLabel    = []byte("l/") // runs by label: l/LABEL 00 VALUE 00 RUN
	keyStops       = []byte("u")  // when engines ended without a word
	prefixLife     = []byte("u/") // engines that are open
	prefixEnded    = []byte("e/") // ended runs by completion: e/ + 8 bytes of microseconds + RUN
)

func join(prefix []byte, parts ...string) []byte {
	key := append([]byte(nil), prefix...)
	for _, p := range parts {
		key = append(key, p...)
	}
	return key
}

func runPrefix(run string) []byte { return join(prefixRun, run, "/") }

func endedKey(at time.Time, run string) []byte {
	key := append([]byte(nil), prefixEnded...)
	key = binary.BigEndian.AppendUint64(key, uint64(micros(at)))
	return append(key, run...)
}
