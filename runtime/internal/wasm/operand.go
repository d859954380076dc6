package wasm

// second reads the opcode behind a prefix, which takes as few bytes as it can:
// else readers could differ in which instruction it is.
func (c *coder) second(at int) byte {
	op := c.byte()
	if op < 0x80 {
		return op
	}
	switch high := c.byte(); {
	case c.err != nil || high == 1:
	case high == 2 && c.b[at] == 0xfd:
		c.refuse(at, FeatureRelaxedSIMD, "it has the instruction 0xfd 0x%x", int(high)<<7|int(op&0x7f))
	default:
		c.fail(at, "has an unknown instruction 0x%02x 0x%02x 0x%02x", c.b[at], op, high)
	}
	return op
}

// operands passes over what follows an opcode.
func (c *coder) operands(at int, op opcode) {
	switch op.shape {
	case plain:
	case index:
		c.u32()
	case functionIndex:
		c.functionIndex(c.reader)
	case call:
		if f := c.functionIndex(c.reader); c.err == nil {
			c.call(c.typeOf(f))
		}
	case callIndirect:
		if t := c.typeIndex(c.reader); c.err == nil {
			c.call(t)
		}
		c.u32()
	case branch:
		c.u32()
		c.effort.quarters += quartersBranch
	case branchTable:
		n := c.count(1)
		for range n + 1 {
			c.u32()
		}
		c.effort.quarters += n / entriesQuarter
	case oneType:
		if n := c.byte(); n != 1 {
			c.fail(at, "has a select of %d types", n)
		}
		c.valueType()
	case heapType:
		c.refType()
	case memory:
		c.zero()
	case memoryGrow:
		c.bulkOperation(at, patchGrowBytes)
		c.zero()
	case address:
		c.address()
	case addressLane:
		c.address()
		c.byte()
	case lane:
		c.byte()
	case signed32:
		c.signed(5)
	case signed64:
		c.signed(10)
	case fixed4:
		c.skip(4)
	case fixed8:
		c.skip(8)
	case fixed16:
		c.skip(16)
	case memoryFill:
		c.bulkOperation(at, patchBytes)
		c.zero()
	case memoryCopy:
		c.bulkOperation(at, patchBytes)
		c.zero()
		c.zero()
	case memoryInit:
		c.bulkOperation(at, patchBytes)
		c.u32()
		c.zero()
	case tableBulk:
		c.bulkOperation(at, patchEntries)
		c.u32()
		c.u32()
	case tableFill:
		c.bulkOperation(at, patchEntries)
		c.u32()
	case tableGrow:
		c.bulkOperation(at, patchGrowEntries)
		c.u32()
	case refused:
		c.refuse(at, op.feature, "it has the instruction 0x%02x", c.b[at])
	default:
		c.fail(at, "has an unknown instruction % x", c.b[at:c.at])
	}
}

// bulkOperation notes that the instruction takes as long as its last operand
// says.
func (c *coder) bulkOperation(at int, what patchKind) {
	c.bulk = true
	c.effort.quarters += quartersBulk
	c.patch(at, what)
}

// zero reads the index of the only memory, which takes one byte.
func (c *coder) zero() {
	begin := c.at
	if b := c.byte(); b != 0 {
		c.refuse(begin, FeatureMultiMemory, "an instruction names memory %d", b)
	}
}

// address reads an alignment, whose bit 6 would announce a memory, and an offset.
func (c *coder) address() {
	begin := c.at
	switch align := c.u32(); {
	case align >= 128:
		c.fail(begin, "has an alignment of 2 to the power of %d", align)
	case align >= 64:
		c.refuse(begin, FeatureMultiMemory, "an instruction names its memory")
	}
	c.u32()
}
