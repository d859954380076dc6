package wasm

// shape is what follows an opcode, and so what the opcode is to a rewriter.
type shape byte

const (
	unknown       shape = iota // refused: the specification has no such instruction
	refused                    // refused: a feature that is off
	plain                      // nothing follows
	blockStart                 // a block's type; a block begins
	loopStart                  // the same of a loop
	ifStart                    // the same of an if
	elseMark                   // an if's other branch begins
	endMark                    // a block ends
	index                      // a number: a local, global, table or segment
	functionIndex              // a number: a function
	call                       // the same, which is called
	callIndirect               // two numbers: a type and a table
	branch                     // a number: a block
	branchTable                // a vector of numbers and one more
	oneType                    // a vector of exactly one type
	heapType                   // a reference's type
	memory                     // the memory, 0
	memoryGrow                 // the same of memory.grow
	address                    // an alignment and an offset
	addressLane                // an alignment, an offset and a lane
	lane                       // a lane, one byte
	signed32                   // a number of 32 bits
	signed64                   // a number of 64 bits
	fixed4                     // 4 bytes
	fixed8                     // 8 bytes
	fixed16                    // 16 bytes
	memoryFill                 // the memory, 0
	memoryCopy                 // the memory twice
	memoryInit                 // a segment and the memory
	tableBulk                  // two numbers: table.copy and table.init
	tableFill                  // a number: a table
	tableGrow                  // a number: a table
	prefixBulk                 // a number below 256 that is the real opcode, of bulk
	prefixVector               // the same, of vector
)

// opcode is an instruction of the table.
type opcode struct {
	shape   shape
	feature Feature // of a refused one
}

// row gives the opcodes from first to last their entry.
type row struct {
	first, last byte
	opcode
}

// instructions are the opcodes of one byte.
var instructions = table([]row{
	{0x00, 0x01, opcode{shape: plain}}, // unreachable, nop
	{0x02, 0x02, opcode{shape: blockStart}},
	{0x03, 0x03, opcode{shape: loopStart}},
	{0x04, 0x04, opcode{shape: ifStart}},
	{0x05, 0x05, opcode{shape: elseMark}},
	{0x06, 0x0a, off(FeatureExceptions)}, // try, catch, throw, rethrow, throw_ref
	{0x0b, 0x0b, opcode{shape: endMark}},
	{0x0c, 0x0d, opcode{shape: branch}}, // br, br_if
	{0x0e, 0x0e, opcode{shape: branchTable}},
	{0x0f, 0x0f, opcode{shape: plain}}, // return
	{0x10, 0x10, opcode{shape: call}},  // call,
	{0x11, 0x11, opcode{shape: callIndirect}},
	{0x12, 0x13, off(FeatureTailCalls)},
	{0x14, 0x15, off(FeatureTypedRefs)},  // call_ref, return_call_ref
	{0x18, 0x19, off(FeatureExceptions)}, // delegate, catch_all
	{0x1a, 0x1b, opcode{shape: plain}},   // drop, select
	{0x1c, 0x1c, opcode{shape: oneType}}, // select
	{0x1f, 0x1f, off(FeatureExceptions)}, // try_table
	{0x20, 0x26, opcode{shape: index}},   // local, global, table .get, .set, .tee
	{0x28, 0x3e, opcode{shape: address}}, // load, store
	{0x3f, 0x3f, opcode{shape: memory}},  // memory.size
	{0x40, 0x40, opcode{shape: memoryGrow}},
	{0x41, 0x41, opcode{shape: signed32}},
	{0x42, 0x42, opcode{shape: signed64}},
	{0x43, 0x43, opcode{shape: fixed4}},
	{0x44, 0x44, opcode{shape: fixed8}},
	{0x45, 0xc4, opcode{shape: plain}}, // comparing, computing, converting
	{0xd0, 0xd0, opcode{shape: heapType}},
	{0xd1, 0xd1, opcode{shape: plain}},         // ref.is_null
	{0xd2, 0xd2, opcode{shape: functionIndex}}, // ref.func,
	{0xd3, 0xd3, off(FeatureGC)},               // ref.eq
	{0xd4, 0xd6, off(FeatureTypedRefs)},        // ref.as_non_null, br_on_null, br_on_non_null
	{0xfb, 0xfb, off(FeatureGC)},
	{0xfc, 0xfc, opcode{shape: prefixBulk}},
	{0xfd, 0xfd, opcode{shape: prefixVector}},
	{0xfe, 0xfe, off(FeatureThreads)},
})

// shapes are the shapes of instructions, close together.
var shapes = func() (s [256]shape) {
	for op := range s {
		s[op] = instructions[op].shape
	}
	return s
}()

// bulk are the opcodes behind 0xfc.
var bulk = table([]row{
	{0, 7, opcode{shape: plain}}, // saturating conversions
	{8, 8, opcode{shape: memoryInit}},
	{9, 9, opcode{shape: index}}, // data.drop
	{10, 10, opcode{shape: memoryCopy}},
	{11, 11, opcode{shape: memoryFill}},
	{12, 12, opcode{shape: tableBulk}}, // table.init
	{13, 13, opcode{shape: index}},     // elem.drop
	{14, 14, opcode{shape: tableBulk}}, // table.copy
	{15, 15, opcode{shape: tableGrow}},
	{16, 16, opcode{shape: index}}, // table.size
	{17, 17, opcode{shape: tableFill}},
})

// vector are the opcodes behind 0xfd. Those that are missing between others are
// reserved.
var vector = table([]row{
	{0x00, 0x0b, opcode{shape: address}},
	{0x0c, 0x0d, opcode{shape: fixed16}}, // v128.const, i8x16.shuffle
	{0x0e, 0x14, opcode{shape: plain}},
	{0x15, 0x22, opcode{shape: lane}},
	{0x23, 0x53, opcode{shape: plain}},
	{0x54, 0x5b, opcode{shape: addressLane}},
	{0x5c, 0x5d, opcode{shape: address}},
	{0x5e, 0x99, opcode{shape: plain}},
	{0x9b, 0xa1, opcode{shape: plain}},
	{0xa3, 0xa4, opcode{shape: plain}},
	{0xa7, 0xae, opcode{shape: plain}},
	{0xb1, 0xb1, opcode{shape: plain}},
	{0xb5, 0xba, opcode{shape: plain}},
	{0xbc, 0xc1, opcode{shape: plain}},
	{0xc3, 0xc4, opcode{shape: plain}},
	{0xc7, 0xce, opcode{shape: plain}},
	{0xd1, 0xd1, opcode{shape: plain}},
	{0xd5, 0xe1, opcode{shape: plain}},
	{0xe3, 0xed, opcode{shape: plain}},
	{0xef, 0xff, opcode{shape: plain}},
})

func off(f Feature) opcode { return opcode{shape: refused, feature: f} }

func table(rows []row) (t [256]opcode) {
	for _, r := range rows {
		for op := int(r.first); op <= int(r.last); op++ {
			t[op] = r.opcode
		}
	}
	return t
}
