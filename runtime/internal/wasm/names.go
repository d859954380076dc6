package wasm

import "encoding/binary"

// Parts of the name section.
const (
	namesFunctions = 1
	namesLocals    = 2
	namesLabels    = 3
)

// names writes the name section: stack traces need the functions' names. The
// names of labels go, since there are more labels. A section that cannot be
// read is left out, since it is for people only.
func (w *rewriter) names() {
	content, ok := w.Custom("name")
	if !ok {
		return
	}
	whole := len(w.out)
	begin := w.begin(customSection)
	w.out = append(w.out, named("name")...)
	r := &reader{b: content}
	for !r.done() && r.err == nil {
		id := r.byte()
		size := r.count(1)
		part := &reader{b: r.b[:r.at+size], at: r.at}
		r.at += size
		switch id {
		case namesLabels:
			continue
		case namesFunctions, namesLocals:
			w.scratch = w.movedNames(w.scratch[:0], part, id == namesLocals)
			r.err = part.err
		default:
			w.scratch = append(w.scratch[:0], part.b[part.at:]...)
		}
		w.out = binary.AppendUvarint(append(w.out, id), uint64(len(w.scratch)))
		w.out = append(w.out, w.scratch...)
	}
	if r.err != nil {
		w.out = w.out[:whole]
		return
	}
	w.end(begin)
}

// movedNames appends a map from functions' indices to names, or to maps from
// indices to names.
func (w *rewriter) movedNames(out []byte, r *reader, maps bool) []byte {
	n := r.count(2)
	if maps {
		out = binary.AppendUvarint(out, uint64(n))
	} else {
		out = binary.AppendUvarint(out, uint64(n)+1)
	}
	for i := 0; i < n && r.err == nil; i++ {
		out = binary.AppendUvarint(out, uint64(w.moved(r.u32())))
		begin, names := r.at, 1
		if maps {
			names = r.count(2)
		}
		for j := 0; j < names && r.err == nil; j++ {
			if maps {
				r.u32()
			}
			r.bytes()
		}
		out = append(out, r.b[begin:r.at]...)
	}
	if !maps {
		out = append(out, number(w.refill)+named(w.ImportName)...)
	}
	return out
}
