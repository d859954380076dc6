package wasm

// element reads an element segment. Its form has three bits: 0, not active (it
// waits for table.init, or only declares); 1, it names its table, or else that
// it only declares; 2, it holds expressions and not functions' indices.
func (p *parser) element(r *reader) {
	begin := r.at
	form := r.u32()
	if r.err == nil && form > 7 {
		r.fail(begin, "has a segment of the unknown form %d", form)
		return
	}
	active, expressions := form&1 == 0, form&4 != 0
	if active {
		if form&2 != 0 {
			r.u32() // the table
		}
		p.constant(r)
	}
	switch {
	case form&3 == 0: // the form without a type
	case expressions:
		r.refType()
	default:
		begin := r.at
		if kind := r.byte(); kind != 0 {
			r.fail(begin, "has a segment of the unknown kind 0x%02x", kind)
		}
	}
	n := p.counted(r, 1)
	for i := 0; i < n && r.err == nil; i++ {
		if expressions {
			p.constant(r)
		} else {
			p.functionIndex(r)
		}
	}
}

// data reads a data segment: active, passive, or active with a named memory.
func (p *parser) data(r *reader) {
	begin := r.at
	switch form := r.u32(); form {
	case 0:
		p.constant(r)
	case 1:
	case 2:
		begin := r.at
		if n := r.u32(); n != 0 {
			r.refuse(begin, FeatureMultiMemory, "a segment is for memory %d", n)
		}
		p.constant(r)
	default:
		r.fail(begin, "has a segment of the unknown form %d", form)
	}
	r.bytes()
}

// constant reads a constant expression.
func (p *parser) constant(r *reader) {
	for r.err == nil {
		at := r.at
		switch op := r.byte(); op {
		case 0x0b: // end
			return
		case 0x23: // global.get
			r.u32()
		case 0x41:
			r.signed(5)
		case 0x42:
			r.signed(10)
		case 0x43:
			r.skip(4)
		case 0x44:
			r.skip(8)
		case 0xd0: // ref.null
			r.refType()
		case 0xd2: // ref.func
			p.functionIndex(r)
		case 0xfd: // v128.const
			if second := r.byte(); second != 0x0c {
				r.fail(at, "has 0xfd 0x%02x in a constant expression", second)
			}
			r.skip(16)
		default:
			r.fail(at, "has the instruction 0x%02x in a constant expression", op)
		}
	}
}
