package tomlfile

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration written as Go writes it, such as "1m30s". It is
// never negative.
type Duration time.Duration

// UnmarshalText reads a duration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf(`%q is no duration; write it like "500ms", "20s" or "1h30m"`, text)
	}
	if v < 0 {
		return fmt.Errorf("%q is negative", text)
	}
	*d = Duration(v)
	return nil
}

// Size is a number of bytes written like "64MiB", "512KiB", "1GiB" or "100B".
type Size int64

// sizeUnits in the order in which suffixes are tried: "B" ends them all.
var sizeUnits = [...]struct {
	suffix string
	bytes  int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}}

// UnmarshalText reads a size.
func (s *Size) UnmarshalText(text []byte) error {
	for _, unit := range sizeUnits {
		digits, ok := strings.CutSuffix(string(text), unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 32)
		if err != nil {
			break
		}
		*s = Size(int64(n) * unit.bytes)
		return nil
	}
	return fmt.Errorf(`%q is no size; write it like "64MiB" or "512KiB"`, text)
}
