package runtime_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// Every trap that the sandbox has is known, and what a step makes up is not.
//
// Seen red with one trap left out.
func TestKnownCodes(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "internal/sandbox/errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	traps := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Trap") {
			return true
		}
		code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		if traps++; !pawl.KnownCode(code) {
			t.Errorf("the trap %s is not known", code)
		}
		return false
	})
	if traps < 20 {
		t.Errorf("only %d traps were found", traps)
	}
	for code, known := range map[string]bool{
		"timer": true, "unknown": true, "budget": true, "invalid_output": true, "call_deadline": true,
		"": false, "sold_out": false, "order_4711": false,
	} {
		if pawl.KnownCode(code) != known {
			t.Errorf("KnownCode(%q) is %v", code, !known)
		}
	}
}
