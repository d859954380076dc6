package guests_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
	wt "github.com/pawl-dev/pawl/runtime/internal/wasmtest"
)

// deploy deploys a workflow of the module.
func deploy(t *testing.T, e *pawl.Engine, wasm []byte) error {
	t.Helper()
	_, err := e.Deploy(t.Context(), folder("bad", "", wasm))
	return err
}

// nested is so many blocks in one another.
func nested(n int) string { return strings.Repeat("\x02\x40", n) + strings.Repeat(wt.OpEnd, n) }

func branchTable(n int) string {
	return "\x02\x40" + wt.Const(0) + "\x0e" + wt.Uleb(n) + strings.Repeat("\x00", n+1) + wt.OpEnd
}

func custom(name, content string) string { return wt.Section(0, wt.Text(name)+content) }

// Modules that no engine should compile are refused when they are deployed,
// with a code and a sentence, and nothing of them is stored.
//
// Seen red with a bulk operation that weighs a branch, and with the module's
// limit of effort five times as high.
func TestHostileModulesAreRefused(t *testing.T) {
	t.Parallel()
	e := openWith(t)
	good := string(guest(wt.Done))
	memory := func(content string) []byte {
		return with(wt.Done, func(p *wt.Program) { p.Memory, p.Data = content, "" })
	}
	imported := func(module, name string, shape wt.Shape) []byte {
		return with(wt.Done, func(p *wt.Program) {
			p.Imports = append(p.Imports, wt.Function{Module: module, Export: name, Shape: shape})
		})
	}
	const million = 1_000_000
	for name, row := range map[string]struct {
		wasm []byte
		code string
	}{
		"a component":                     {[]byte("\x00asm\x0d\x00\x01\x00"), sandbox.ModuleComponent},
		"nothing":                         {nil, sandbox.ModuleInvalid},
		"shared memory":                   {memory("\x01\x03\x01\x01"), sandbox.ModuleThreads},
		"memory of 64 bits":               {memory("\x01\x04\x01"), sandbox.ModuleInvalid},
		"two memories":                    {memory("\x02\x00\x01\x00\x01"), sandbox.ModuleInvalid},
		"memory of 4 GiB and more":        {memory("\x01\x00" + wt.Uleb(65537)), sandbox.ModuleMemory},
		"a foreign import":                {imported("env", "system", wt.ShapeNone), sandbox.ModuleUnknownImport},
		"a function that we do not offer": {imported("pawl_v1", "spawn", wt.ShapeNone), sandbox.ModuleUnknownImport},
		"an import of another type":       {imported("pawl_v1", "take", wt.ShapeNone), sandbox.ModuleUnknownImport},
		"a million functions": {with(wt.Done, func(p *wt.Program) {
			p.Functions = append(p.Functions, make([]wt.Function, million)...)
		}), sandbox.ModuleFunctions},
		"a million types":                  {[]byte(wt.Header + wt.Section(1, wt.Uleb(million+1)+strings.Repeat("\x60\x00\x00", million+1)) + good[8:]), sandbox.ModuleEntries},
		"four billion locals":              {manyLocals(1<<32 - 1), sandbox.ModuleLocals},
		"a million locals of one function": {manyLocals(million), sandbox.ModuleLocals},
		"a million targets of a branch":    {guest(branchTable(million) + wt.Done), sandbox.ModuleEffort},
		"half a million nested blocks":     {guest(nested(million/3) + wt.Done), sandbox.ModuleEffort},
		"a function of 2 MiB":              {guest(strings.Repeat("\x01", 2*mebibyte) + wt.Done), sandbox.ModuleBody},
		"many bulk operations":             {guest(strings.Repeat(worstCode["fill"], 5000) + wt.Done), sandbox.ModuleEffort},
		"ten functions at their limit":     {functions(10, strings.Repeat(worstCode["loops"], 2800)), sandbox.ModuleEffort},
		"a million exports":                {manyExports(million + 1), sandbox.ModuleEntries},
		"a table of four billion": {with(wt.Done, func(p *wt.Program) {
			p.Tables = []string{"\x70\x00" + wt.Uleb(1<<32-1)}
		}), sandbox.ModuleTables},
		"more than 32 MiB of custom sections": {[]byte(good + strings.Repeat(custom("x", strings.Repeat("y", mebibyte)), 33)), sandbox.ModuleSize},
		"a description that is no JSON":       {[]byte(good + custom("pawl_describe", "{{{")), sandbox.ModuleBadDescription},
		"a description nested without end":    {[]byte(good + custom("pawl_describe", strings.Repeat("[", 2*million))), sandbox.ModuleBadDescription},
		"a description of 20 MiB":             {[]byte(good + custom("pawl_describe", `"`+strings.Repeat("x", 20*mebibyte)+`"`)), sandbox.ModuleBadDescription},
	} {
		t.Run(name, func(t *testing.T) {
			err := deploy(t, e, row.wasm)
			var refused *sandbox.ModuleError
			if !errors.As(err, &refused) {
				t.Fatalf("%T: %.300v", err, err)
			}
			if refused.Code != row.code || len(err.Error()) > 4<<10 {
				t.Errorf("code %s, want %s: %.300s", refused.Code, row.code, err)
			}
		})
	}
	if _, err := e.Workflow("bad"); !errors.Is(err, pawl.ErrNotFound) {
		t.Errorf("something was stored: %v", err)
	}
}

// manyLocals is a guest with one function more, of so many locals.
func manyLocals(n int) []byte {
	good := with(wt.Done, func(p *wt.Program) {
		p.Functions = append(p.Functions, wt.Function{Shape: wt.ShapeNone, Code: "LOCALS"})
	})
	body := "\x01\x01\x7fLOCALS\x0b"
	return []byte(resized(string(good), body, "\x01"+wt.Uleb(n)+"\x7f\x0b"))
}

// resized is a module whose last function, of the body was, has the body is.
func resized(module, was, is string) string {
	at := strings.LastIndex(module, wt.Text(was))
	if at < 0 {
		panic("the function is not there")
	}
	// The code section holds the step and this function, and data follows it.
	end := at + len(wt.Text(was))
	for begin := at; begin > 0; begin-- {
		head := "\x0a" + wt.Uleb(end-begin)
		if strings.HasSuffix(module[:begin], head) {
			return module[:begin-len(head)] + wt.Section(10, module[begin:at]+wt.Text(is)) + module[end:]
		}
	}
	panic("the code section is not there")
}

// functions is a guest with so many functions more.
func functions(n int, code string) []byte {
	return with(wt.Done, func(p *wt.Program) {
		for range n {
			p.Functions = append(p.Functions, wt.Function{Shape: wt.ShapeNone, Code: code})
		}
	})
}

func manyExports(n int) []byte {
	var exports strings.Builder
	exports.WriteString(wt.Uleb(n))
	for i := range n {
		exports.WriteString(wt.Text(fmt.Sprint(i)) + "\x00\x00")
	}
	return []byte(wt.Header + wt.Section(1, wt.Vector("\x60\x00\x00")) + wt.Section(3, wt.Vector("\x00")) +
		wt.Section(7, exports.String()) + wt.Section(10, wt.Vector(wt.Text("\x00\x0b"))))
}

// A module that ends at any of its bytes, and one with any byte changed, is
// refused or runs: what it says is never believed, and nothing panics.
func TestTruncatedAndChangedModules(t *testing.T) {
	t.Parallel()
	e := openWith(t)
	whole := guest(wt.GoodCall + wt.Done)
	refused := 0
	judge := func(wasm []byte, what string) {
		err := deploy(t, e, wasm)
		var m *sandbox.ModuleError
		var trap *sandbox.Trap
		if err != nil && !errors.As(err, &m) && !errors.As(err, &trap) {
			t.Errorf("%s: %T: %v", what, err, err)
		}
		if err != nil {
			refused++
		}
	}
	for n := range whole {
		judge(whole[:n], fmt.Sprint("the first bytes: ", n))
	}
	// The custom-section tail of a module may be cut off between sections.
	if refused < len(whole)-3 {
		t.Errorf("only %d of %d truncated modules were refused", refused, len(whole))
	}
	refused = 0
	random := rand.New(rand.NewPCG(1, 2))
	const changes = 150
	for range changes {
		changed := append([]byte{}, whole...)
		at := 8 + random.IntN(200)
		changed[at] ^= 1 << random.IntN(8)
		judge(changed, fmt.Sprint("changed at ", at))
		noise := make([]byte, random.IntN(500))
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		judge([]byte(wt.Header+string(noise)), "noise")
	}
	if refused < changes {
		t.Errorf("only %d of %d were refused", refused, 2*changes)
	}
}
