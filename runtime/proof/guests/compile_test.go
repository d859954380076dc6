package guests_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
	"github.com/pawl-dev/pawl/runtime/internal/wasm"
	wt "github.com/pawl-dev/pawl/runtime/internal/wasmtest"
)

// worstCode are pieces of code that cost the compiler most beside their size. A
// module gets as many functions of them as the limits admit.
var worstCode = map[string]string{
	"ifs":    wt.Const(0) + ifThen + wt.OpEnd,
	"loops":  wt.OpLoop + wt.OpEnd,
	"br_if":  "\x02\x40" + wt.Const(0) + again + wt.OpEnd,
	"fill":   wt.Const(0) + wt.Const(0) + wt.Const(0) + memoryFill,
	"tables": branchTable(200),
	"blocks": "\x02\x40" + wt.OpEnd,
	"calls":  wt.GoodCall,
	"vector": "\x20\x00\xfd\x11" + "\x20\x00\xfd\x11" + "\xfd\xb5\x01" + wt.OpDrop, // i32x4.splat, i32x4.mul
	"drops":  wt.Const(1) + wt.OpDrop,
}

// admitted is the largest module of so many functions of the piece that is not
// refused for its effort or size, as the limits are.
func admitted(piece string, refuses func([]byte) bool) (whole []byte, pieces, functions int) {
	module := func(pieces, functions int) []byte {
		f := wt.Function{Shape: wt.Shape{Params: "\x7f"}, Code: strings.Repeat(piece, pieces)}
		return with(wt.Done, func(p *wt.Program) {
			for range functions {
				p.Functions = append(p.Functions, f)
			}
		})
	}
	most := func(high int, fits func(int) bool) int {
		low := 1
		for low < high {
			if middle := (low + high + 1) / 2; fits(middle) {
				low = middle
			} else {
				high = middle - 1
			}
		}
		return low
	}
	pieces = most(mebibyte/len(piece)-1, func(n int) bool { return !refuses(module(n, 1)) })
	functions = most(200, func(n int) bool { return !refuses(module(pieces, n)) })
	return module(pieces, functions), pieces, functions
}

// What the compiler needs for the worst that the limits admit. It is asked for.
func TestWorstModulesThatTheLimitsAdmit(t *testing.T) {
	if *worst == "" {
		t.Skip("a long measurement; ask for it with -args -worst")
	}
	for name, piece := range worstCode {
		if *worst != name && *worst != "all" {
			continue
		}
		whole, pieces, functions := admitted(piece, refusedByLimits)
		s, err := sandbox.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		before, begun := processor(t), time.Now()
		_, err = s.Module(t.Context(), digest(whole), func() ([]byte, error) { return whole, nil })
		if refused := new(sandbox.ModuleError); err != nil && !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s: %d pieces in each of %d functions, %d KiB: %.1f s, of the processor %.1f s, the process's peak %d MiB: %v",
			name, pieces, functions, len(whole)>>10, time.Since(begun).Seconds(), (processor(t) - before).Seconds(), peak()>>20, err)
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func refusedByLimits(module []byte) bool {
	_, err := wasm.Parse(module, nil)
	return err != nil
}

// digest is a module's digest, as the sandbox knows it.
func digest(module []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(module)) }

func processor(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
