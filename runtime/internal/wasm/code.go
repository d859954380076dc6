package wasm

import "math"

// codeSection reads the functions' bodies.
func (p *parser) codeSection(r *reader) {
	n := r.count(1)
	if r.err == nil && n != len(p.m.Functions) {
		r.fail(r.at, "has the code of %d functions; %d are declared", n, len(p.m.Functions))
	}
	if r.err != nil {
		return
	}
	p.m.bodies = make([]body, 0, n)
	p.m.patches = append(make([]patch, 0, len(p.m.patches)+(len(r.b)-r.at)/8), p.m.patches...)
	c := &coder{parser: p, reader: &reader{}}
	for i := 0; i < n && r.err == nil; i++ {
		size := r.count(1)
		c.function = p.m.imported[KindFunction] + i
		*c.reader = reader{b: r.b[:r.at+size], at: r.at, section: r.section, err: r.err}
		c.check("BodySize", size, c.limits.BodySize)
		c.body(p.m.Functions[i])
		r.at, r.err = r.at+size, c.reader.err
	}
}

// coder reads the code of functions, one after the other.
type coder struct {
	*parser
	open []block // kept for the next function
	// Of the function that is read:
	*reader
	function int
	effort   effort
	bulk     bool
}

// block is a block that is open.
type block struct {
	shape shape
	// head is the index of the patch that pays for the instructions here.
	head uint32
}

// body reads one function's code, up to the end of the reader.
func (c *coder) body(typ uint32) {
	b := body{locals: uint32(c.at), end: uint32(len(c.b)), patches: uint32(len(c.m.patches))}
	locals := uint64(len(c.m.Types[typ].Params))
	groups := c.count(2)
	for i := 0; i < groups && c.err == nil; i++ {
		locals += uint64(c.u32())
		c.valueType()
	}
	c.check("Locals", int(min(locals, math.MaxInt32)), c.limits.Locals)
	b.nextLocal, b.code = uint32(locals), uint32(c.at)
	c.effort, c.bulk = effort{values: c.globals() / 16}, false
	if c.err == nil {
		c.scan()
	}
	c.spend(c.effort.of(int(b.end-b.locals), int(locals)))
	b.bulk = c.bulk
	c.m.bodies = append(c.m.bodies, b)
}

func (c *coder) check(what string, have, limit int) {
	if c.err == nil {
		c.err = check(what, c.function, have, limit)
	}
}

// scan reads up to the end of the function. Most instructions take neither a call
// nor a store: a module has millions.
func (c *coder) scan() {
	r, head, n := c.reader, c.patch(c.at, patchHead), uint32(0)
	c.open = append(c.open[:0], block{shape: blockStart, head: head})
	for len(c.open) > 0 && r.err == nil {
		at := r.at
		op := r.byte()
		n++
		switch s := shapes[op]; s {
		case plain:
		case index:
			r.u32()
		case blockStart, ifStart, loopStart:
			c.begin(s, head)
		case elseMark:
			c.elseMark(at)
		case endMark:
			c.open = c.open[:len(c.open)-1]
		case prefixBulk:
			c.operands(at, bulk[c.second(at)])
		case prefixVector:
			c.operands(at, vector[c.second(at)])
		default:
			c.operands(at, instructions[op])
		}
		if last := len(c.open) - 1; last < 0 || c.open[last].head != head {
			c.m.patches[head].cost += n
			n = 0
			if last >= 0 {
				head = c.open[last].head
			}
		}
	}
	if r.err == nil && !r.done() {
		r.fail(r.at, "has instructions behind a function's end")
	}
}

// begin opens a block. Its instructions are paid for at the head, but those of a
// loop at its own.
func (c *coder) begin(s shape, head uint32) {
	c.blockType()
	switch s {
	case blockStart:
		c.effort.quarters += quartersBlock
	case ifStart:
		c.effort.quarters += quartersBranch
	default:
		c.effort.quarters += quartersLoop
		head = c.patch(c.at, patchHead)
	}
	c.open = append(c.open, block{shape: s, head: head})
}

func (c *coder) elseMark(at int) {
	top := &c.open[len(c.open)-1]
	if top.shape != ifStart {
		c.fail(at, "has an else without an if")
	}
	top.shape = blockStart
}

// blockType reads the type of a block: nothing, a result, or the index of a
// function's type.
func (c *coder) blockType() {
	begin := c.at
	switch t := c.byte(); {
	case c.err != nil || t == 0x40 || ValueType(t).valid():
	case t >= 0x40 && t < 0x80:
		c.refuseType(begin, ValueType(t))
	default:
		c.at = begin
		if n := c.u32(); c.err == nil && int(n) >= len(c.m.Types) {
			c.fail(begin, "has a block of type %d; there are %d types", n, len(c.m.Types))
		}
	}
}

func (c *coder) patch(at int, what patchKind) uint32 {
	c.m.patches = append(c.m.patches, patch{at: uint32(at), what: what})
	return uint32(len(c.m.patches) - 1)
}

// unit is how many instructions one unit of work pays for.
const unit = 256
