package sandbox

import (
	"time"

	"github.com/pawl-dev/pawl/host/abi"
)

// Semantics is the number of the sandbox semantics: everything that a guest
// could notice and that is not in its module, its input or its results. It is
// part of a run's pins.
const Semantics = 1

// Limits that a guest can notice; a change raises [Semantics].
const (
	// DefaultMemoryPages is the memory limit of an entry that names none, in
	// pages of 64 KiB: 128 MiB. Only what a guest grows into is allocated.
	DefaultMemoryPages = 2048
	// MaxMemoryPages is the most that core WebAssembly can address: 4 GiB.
	MaxMemoryPages = 65536
	// MaxTables and MaxTableEntries limit the tables of a module, which are not
	// in its memory: an entry takes 8 bytes, so 8 MiB. Growing fails beyond.
	MaxTables       = 1000
	MaxTableEntries = 1 << 20
	// MaxPayload is the largest body of a request, a reply, an input or an
	// output, in bytes.
	MaxPayload = 8 << 20
	// MaxFailure is the largest failure put, in bytes.
	MaxFailure = 64 << 10
)

// DescribeLimit is how long pawl_describe may take, with the time that it waits
// for other guests: on a machine with much to do that was once 5 s.
const DescribeLimit = 30 * time.Second

// Limits of the log of one entry, which a guest cannot notice.
const (
	// MaxLogLine is where a line is cut, in bytes.
	MaxLogLine = 8 << 10
	// MaxLogBytes is what one entry may log, with 64 bytes for each line: what
	// a line costs whoever keeps it, and empty lines are work too. The rest is
	// left out. Of one write no more is looked at.
	MaxLogBytes = 1 << 20
	logLineCost = 64
)

// maxFrame is the largest frame: the length of a head, a head, a body.
const maxFrame = 4 + abi.MaxHead + MaxPayload
