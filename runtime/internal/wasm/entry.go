package wasm

func (p *parser) importEntry(r *reader) {
	i := Import{Module: r.name(), Name: r.name()}
	begin := r.at
	i.Kind = Kind(r.byte())
	switch i.Kind {
	case KindFunction:
		i.Type = p.typeIndex(r)
		p.importTypes = append(p.importTypes, i.Type)
	case KindTable:
		r.refType()
		i.Min, _ = r.sizes()
	case KindMemory:
		i.Min, _ = r.sizes()
	case KindGlobal:
		r.global()
	case 4:
		r.refuse(begin, FeatureExceptions, "it imports tag %q %q", i.Module, i.Name)
	default:
		r.fail(begin, "imports %s", i)
	}
	if r.err == nil {
		p.m.imported[i.Kind]++
		p.m.Imports = append(p.m.Imports, i)
		p.onlyMemory(r, begin)
	}
}

func (p *parser) table(r *reader) {
	if r.at < len(r.b) && r.b[r.at] == 0x40 {
		r.refuse(r.at, FeatureTypedRefs, "it has a table with a first value")
	}
	t := Table{Type: r.refType()}
	t.Min, t.Max = r.sizes()
	p.m.Tables = append(p.m.Tables, t)
}

func (p *parser) memory(r *reader) {
	begin := r.at
	lowest, highest := r.sizes()
	p.m.Memories = append(p.m.Memories, Memory{lowest, highest})
	p.onlyMemory(r, begin)
}

func (p *parser) onlyMemory(r *reader, at int) {
	if p.m.imported[KindMemory]+len(p.m.Memories) > 1 {
		r.refuse(at, FeatureMultiMemory, "it has more than one")
	}
}

func (p *parser) global(r *reader) {
	p.m.Globals = append(p.m.Globals, r.global())
	p.constant(r)
}

// global reads a global's type.
func (r *reader) global() Global {
	g := Global{Type: r.valueType()}
	begin := r.at
	switch mutable := r.byte(); mutable {
	case 0, 1:
		g.Mutable = mutable == 1
	default:
		r.fail(begin, "has a global that is neither constant nor mutable, but 0x%02x", mutable)
	}
	return g
}

func (p *parser) export(r *reader) {
	e := Export{Name: r.name()}
	begin := r.at
	e.Kind = Kind(r.byte())
	switch {
	case e.Kind == KindFunction:
		e.Index = p.functionIndex(r)
	case e.Kind < kinds:
		e.Index = r.u32()
	case e.Kind == 4:
		r.refuse(begin, FeatureExceptions, "it exports tag %q", e.Name)
	default:
		r.fail(begin, "exports a %s", e.Kind)
	}
	p.m.Exports = append(p.m.Exports, e)
}
