package kv

import "time"

// expiry returns a time in Unix seconds, rounded up: a key never expires
// early. The zero time, which is never, is 0; what is before 1970 is long over.
func expiry(at time.Time) uint64 {
	if at.IsZero() {
		return 0
	}
	seconds := at.Unix()
	if at.Nanosecond() > 0 {
		seconds++
	}
	return uint64(max(seconds, 1))
}

// dropAfter is how many seconds after a key has expired Badger may drop it. The
// record itself says when it expires, and a view compares that with the one
// moment it is at. Badger looks at the clock at every read, so its own time
// comes later than any view lasts.
const dropAfter = 3600

func dropAt(expires uint64) uint64 { return expires + dropAfter }
