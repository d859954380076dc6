package wasm

// effort estimates what a function costs the compiler, so that a small module
// cannot keep it busy for minutes. Its time grows with the square of the
// branches, and with the branches times the locals; RATIONALE.md has the
// measurements.
type effort struct {
	quarters int // of a branch
	values   int // given to and taken from calls
}

// What instructions weigh beside a branch.
const (
	quartersBlock  = 1
	quartersBranch = 4
	quartersLoop   = 8 // its head is counted
	quartersBulk   = 8 // so is its size
	entriesQuarter = 2 // of a br_table
)

// of returns the estimate in microseconds.
func (e effort) of(size, locals int) int {
	branches := e.quarters / 4
	return branches*branches/16 + branches*locals + e.values + size/16
}

// call adds a call: besides what is given and returned, the compiler reads all
// globals anew.
func (c *coder) call(typ uint32) {
	t := c.m.Types[typ]
	c.effort.values += len(t.Params) + len(t.Results) + c.globals()
}

func (p *parser) globals() int { return p.m.imported[KindGlobal] + len(p.m.Globals) }

// typeOf returns the type of a function.
func (p *parser) typeOf(function uint32) uint32 {
	if n := p.m.imported[KindFunction]; int(function) >= n {
		return p.m.Functions[int(function)-n]
	}
	return p.importTypes[function]
}

// spend notes the effort of the function that was read.
func (c *coder) spend(effort int) {
	c.check("FunctionEffort", effort, c.limits.FunctionEffort)
	c.total += effort
	if c.err == nil {
		c.err = check("Effort", -1, c.total, c.limits.Effort)
	}
}
