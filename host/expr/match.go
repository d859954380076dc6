package expr

import (
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

const (
	// maxPattern bounds a regular expression, in bytes; a longer one has a
	// program over the limit anyway, but finding that out takes long.
	maxPattern = 4 << 10
	// maxRegexProgram bounds a compiled regular expression, in instructions.
	maxRegexProgram = 1_000
)

// boundMatch makes a call of matches one whose arguments are looked at before.
// CEL still compiles constant patterns once and bounds the programs of others.
func boundMatch(call interpreter.InterpretableCall) interpreter.InterpretableV2 {
	text, pattern := call.Args()[0], call.Args()[1]
	if _, constant := pattern.(interpreter.InterpretableConst); !constant {
		pattern = boundPattern{pattern}
	}
	args := []interpreter.InterpretableV2{matchedText{text, pattern}, pattern}
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), args, func(args ...ref.Val) ref.Val {
		if m, ok := args[0].(traits.Matcher); ok {
			return m.Match(args[1])
		}
		return types.MaybeNoSuchOverloadErr(args[0])
	})
}

func isMatch(i interpreter.InterpretableV2) (interpreter.InterpretableCall, bool) {
	call, ok := i.(interpreter.InterpretableCall)
	return call, ok && call.Function() == overloads.Matches && len(call.Args()) == 2
}

type boundPattern struct{ interpreter.InterpretableV2 }

func (p boundPattern) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := p.InterpretableV2.Exec(frame)
	if textSize(v) > maxPattern {
		return types.NewErrWithNodeID(p.ID(), "a pattern of %d bytes, limit %d", textSize(v), maxPattern)
	}
	return v
}

func (p boundPattern) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, p.Exec)
}

// matchedText is the text that is matched; to have it costs the matching.
type matchedText struct {
	interpreter.InterpretableV2
	pattern interpreter.InterpretableV2
}

func (t matchedText) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := t.InterpretableV2.Exec(frame)
	matching.charge(frame, v, t.pattern.Exec(frame))
	return v
}

func (t matchedText) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, t.Exec)
}
