package wasm

import "encoding/binary"

// Instructions that are added.
const (
	opIf         = 0x04
	opEnd        = 0x0b
	opCall       = 0x10
	opSelect     = 0x1b
	opLocalGet   = 0x20
	opLocalTee   = 0x22
	opGlobalGet  = 0x23
	opGlobalSet  = 0x24
	opI32Const   = 0x41
	opI64Const   = 0x42
	opI32LtU     = 0x49
	opI64LtS     = 0x53
	opI64Sub     = 0x7d
	opI64Shl     = 0x86
	opI64ShrU    = 0x88
	opI64ExtendU = 0xad

	blockOfNothing = 0x40
)

// Sizes of what one unit pays for in a bulk operation, as powers of 2.
const (
	unitBytes   = 8
	unitEntries = 5
	// pageUnits makes pages of 64 KiB units.
	pageUnits = 16 - unitBytes
	maxPages  = 1 << 16
)

// BytesPerUnit is how many bytes one unit of work pays for in a bulk operation.
const BytesPerUnit = 1 << unitBytes

// code writes the section of the functions' bodies, and last the function that
// asks for more. It is a function since the compiler makes the calls of an import
// long, and there are many.
func (w *rewriter) code(id byte) {
	begin := w.begin(id)
	w.out = binary.AppendUvarint(w.out, uint64(len(w.bodies))+1)
	for _, b := range w.bodies {
		w.scratch = w.body(w.scratch[:0], b)
		w.out = append(binary.AppendUvarint(w.out, uint64(len(w.scratch))), w.scratch...)
	}
	w.out = append(w.out, named("\x00"+string(rune(opCall))+number(w.ask)+string(rune(opGlobalSet))+number(w.counter)+string(rune(opEnd)))...)
	w.end(begin)
}

// body appends a function's locals and code. One with bulk operations has a
// local more, for their length.
func (w *rewriter) body(out []byte, b body) []byte {
	w.local = b.nextLocal
	if !b.bulk {
		return w.copy(out, int(b.locals), int(b.end))
	}
	r := &reader{b: w.bytes, at: int(b.locals)}
	out = binary.AppendUvarint(out, uint64(r.u32())+1)
	out = append(out, w.bytes[r.at:b.code]...)
	out = append(out, 1, byte(I32))
	return w.copy(out, int(b.code), int(b.end))
}

// count appends what counts the work that follows.
func (w *rewriter) count(out []byte, p patch) []byte {
	get := func(op byte, index uint32) { out = binary.AppendUvarint(append(out, op), uint64(index)) }
	constant := func(op byte, n int64) { out = appendSigned(append(out, op), n) }
	if p.what == patchHead {
		get(opGlobalGet, w.counter)
		constant(opI64Const, 1+int64(p.cost/unit))
	} else {
		get(opLocalTee, w.local)
		get(opGlobalGet, w.counter)
		constant(opI64Const, 1)
		out = append(out, opI64Sub)
		get(opLocalGet, w.local)
		switch p.what {
		case patchBytes:
			out = append(out, opI64ExtendU)
			constant(opI64Const, unitBytes)
			out = append(out, opI64ShrU)
		case patchEntries:
			out = append(out, opI64ExtendU)
			constant(opI64Const, unitEntries)
			out = append(out, opI64ShrU)
		case patchGrowBytes:
			out = w.atMost(out, maxPages)
			out = append(out, opI64ExtendU)
			constant(opI64Const, pageUnits)
			out = append(out, opI64Shl)
		case patchGrowEntries:
			out = w.atMost(out, w.TableEntries)
			out = append(out, opI64ExtendU)
			constant(opI64Const, unitEntries)
			out = append(out, opI64ShrU)
		}
	}
	out = append(out, opI64Sub)
	get(opGlobalSet, w.counter)
	get(opGlobalGet, w.counter)
	constant(opI64Const, 0)
	out = append(out, opI64LtS, opIf, blockOfNothing)
	get(opCall, w.refill)
	return append(out, opEnd)
}

// atMost makes the number on the stack, which is the local, at most n: growing
// by more fails at once.
func (w *rewriter) atMost(out []byte, n uint32) []byte {
	limit := appendSigned([]byte{opI32Const}, int64(int32(n)))
	local := binary.AppendUvarint([]byte{opLocalGet}, uint64(w.local))
	out = append(out, limit...)
	out = append(out, local...)
	out = append(out, limit...)
	return append(out, opI32LtU, opSelect)
}

func appendSigned(out []byte, n int64) []byte {
	for {
		low := byte(n & 0x7f)
		n >>= 7
		if n == 0 && low&0x40 == 0 || n == -1 && low&0x40 != 0 {
			return append(out, low)
		}
		out = append(out, low|0x80)
	}
}
