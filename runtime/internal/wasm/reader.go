package wasm

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// reader takes apart bytes up to the end of b; at is an offset of the module.
// After an error it gives zeros and stays where it is.
type reader struct {
	b       []byte
	at      int
	section string
	err     error
}

func (r *reader) fail(at int, format string, args ...any) {
	r.refuse(at, "", format, args...)
}

func (r *reader) refuse(at int, feature Feature, format string, args ...any) {
	if r.err == nil {
		r.err = &FormatError{Offset: at, Section: r.section, Feature: feature, Reason: fmt.Sprintf(format, args...)}
	}
	r.at = len(r.b)
}

func (r *reader) done() bool { return r.at >= len(r.b) }

func (r *reader) byte() byte {
	if r.at >= len(r.b) {
		r.fail(r.at, "it ends too early")
		return 0
	}
	b := r.b[r.at]
	r.at++
	return b
}

// u32 reads an unsigned number of 32 bits.
func (r *reader) u32() uint32 {
	if r.at < len(r.b) && r.b[r.at] < 0x80 {
		r.at++
		return uint32(r.b[r.at-1])
	}
	return r.longU32()
}

func (r *reader) longU32() uint32 {
	begin := r.at
	var n uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if n > math.MaxUint32 {
				break
			}
			return uint32(n)
		}
	}
	r.fail(begin, "has a number of more than 32 bits")
	return 0
}

// signed passes over a signed number of at most size bytes.
func (r *reader) signed(size int) {
	begin := r.at
	for range size {
		if r.byte() < 0x80 {
			return
		}
	}
	r.fail(begin, "has a number that is too long")
}

func (r *reader) skip(n int) {
	if n > len(r.b)-r.at {
		r.fail(r.at, "it ends too early")
		return
	}
	r.at += n
}

// count reads the length of a vector whose entries take at least size bytes.
func (r *reader) count(size int) int {
	begin := r.at
	n := r.u32()
	if int64(n)*int64(size) > int64(len(r.b)-r.at) {
		r.fail(begin, "names %d entries, which cannot be in the bytes that follow", n)
		return 0
	}
	return int(n)
}

// bytes reads a length and that many bytes.
func (r *reader) bytes() []byte {
	n := r.count(1)
	r.at += n
	return r.b[r.at-n : r.at : r.at]
}

func (r *reader) name() string {
	begin := r.at
	b := r.bytes()
	if !utf8.Valid(b) {
		r.fail(begin, "has a name that is not UTF-8")
		return ""
	}
	return string(b)
}

func (r *reader) valueType() ValueType {
	begin := r.at
	t := ValueType(r.byte())
	if r.err == nil && !t.valid() {
		r.refuseType(begin, t)
	}
	return t
}

func (t ValueType) valid() bool {
	return t >= V128 && t <= I32 || t == Funcref || t == Externref
}

func (r *reader) refuseType(at int, t ValueType) {
	switch {
	case t == 0x63 || t == 0x64:
		r.refuse(at, FeatureTypedRefs, "has a reference to a type")
	case t == 0x69 || t == 0x74:
		r.refuse(at, FeatureExceptions, "has a reference to an exception")
	case t >= 0x65 && t <= 0x73:
		r.refuse(at, FeatureGC, "has a reference of the kind 0x%02x", byte(t))
	default:
		r.fail(at, "has a value of the unknown type 0x%02x", byte(t))
	}
}

func (r *reader) refType() ValueType {
	begin := r.at
	t := r.valueType()
	if r.err == nil && t != Funcref && t != Externref {
		r.fail(begin, "has 0x%02x where a reference's type must be", byte(t))
	}
	return t
}

// sizes reads a least and a greatest size; the latter is the largest number if
// there is none.
func (r *reader) sizes() (lowest, highest uint32) {
	begin := r.at
	switch flags := r.byte(); {
	case r.err != nil:
		return 0, 0
	case flags > 7:
		r.fail(begin, "has limits of the unknown form 0x%02x", flags)
	case flags&4 != 0:
		r.refuse(begin, FeatureMemory64, "it has a size of 64 bits")
	case flags&2 != 0:
		r.refuse(begin, FeatureThreads, "it has a shared memory")
	case flags == 0:
		return r.u32(), math.MaxUint32
	default:
		return r.u32(), r.u32()
	}
	return 0, 0
}
