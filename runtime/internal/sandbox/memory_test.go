package sandbox_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
)

// A guest's memory keeps what is in it when it grows, is zero beyond, and does
// not grow past its limit.
//
// Seen red with a memory that is cleared when it grows.
func TestMemoryGrows(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	var left []byte
	s.OnLeaving(func(memory []byte) { left = bytes.Clone(memory) })
	grow := wasmtest.Const(3) + "\x40\x00" + wasmtest.OpDrop
	fill := wasmtest.Const(pageSize) + wasmtest.Const(7) + wasmtest.Const(3*pageSize) + "\xfc\x0b\x00"
	for name, code := range map[string]string{"grows": grow, "grows and fills": grow + fill, "grows a page at a time": "\x41\x01\x40\x00\x1a\x41\x01\x40\x00\x1a\x41\x01\x40\x00\x1a"} {
		if _, err := load(t, s, wasmtest.Guest(code+wasmtest.Done).Bytes()).Enter(t.Context(), &newBench("s", `null`).Entry); err != nil {
			t.Fatal(err)
		}
		want := append([]byte(wasmtest.Data), make([]byte, 4*pageSize-len(wasmtest.Data))...)
		if name == "grows and fills" {
			copy(want[pageSize:], bytes.Repeat([]byte{7}, 3*pageSize))
		}
		if !bytes.Equal(left, want) {
			t.Errorf("%s: a memory of %d bytes is not as it should be", name, len(left))
		}
	}
	// One page more than the limit: -1, which is an address outside.
	b := newBench("s", `null`)
	b.MemoryPages = 4
	past := wasmtest.Const(4) + "\x40\x00" + "\x28\x00\x00" + wasmtest.OpDrop
	_, err := load(t, s, wasmtest.Guest(past+wasmtest.Done).Bytes()).Enter(t.Context(), &b.Entry)
	if trap := new(sandbox.Trap); !errors.As(err, &trap) || trap.Code != sandbox.TrapOutOfBounds {
		t.Errorf("past the limit: %v", err)
	}
}
