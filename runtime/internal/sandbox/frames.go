package sandbox

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Bounds of the functions that a trap names.
const (
	maxFrames = 10
	frameName = 120 // bytes of a name
)

// frame is a line of wazero's stack trace: the module's name, which is empty
// for a guest, the function's name, its parameters and results. A name may hold
// anything, parentheses too.
var frame = regexp.MustCompile(`^\t([a-z_0-9]*)\.(.+)\([a-z0-9,]*\)(?: [a-z0-9]+| \([a-z0-9,]+\))?$`)

// framesOf says where in the guest a trap happened: the names of its functions
// from wazero's error text, innermost first. They come from the module's name
// section; offsets, which the compiler and the interpreter count differently,
// are left out.
func framesOf(text string) string {
	_, trace, _ := strings.Cut(text, "wasm stack trace:\n")
	var names []string
	for line := range strings.SplitSeq(trace, "\n") {
		match := frame.FindStringSubmatch(line)
		if match == nil || match[1] != "" { // not a frame, or one of the host
			continue
		}
		names = append(names, functionName(match[2]))
	}
	more := ""
	if len(names) > maxFrames {
		names, more = names[:maxFrames], ", ..."
	}
	if len(names) == 0 {
		return ""
	}
	return "\nin " + strings.Join(names, ", called by ") + more
}

// functionName makes a name safe to show. A function without a name has its
// index, which is one too high: a function was added before it.
func functionName(name string) string {
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "$")); err == nil && name[0] == '$' {
		return fmt.Sprintf("function %d", n-1)
	}
	name = clean([]byte(name))
	return strings.ToValidUTF8(name[:min(len(name), frameName)], "")
}
