package expr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/interpreter"
)

// maxMessage bounds what an [EvalError] says, in bytes.
const maxMessage = 300

// Program is a compiled expression. It is safe for concurrent use.
type Program struct {
	source  string
	program cel.Program
	info    *ast.SourceInfo
	uses    map[string]bool
}

// Compile reads an expression over the named variables, all of them dynamic. A
// name may have dots: after Compile(src, "steps.lookup"), steps.lookup is known
// and steps.send is an error. Errors are a [*CompileError].
func Compile(src string, vars ...string) (*Program, error) {
	base, err := baseEnv()
	if err != nil {
		return nil, err
	}
	options := make([]cel.EnvOption, 0, len(vars))
	for _, v := range vars {
		options = append(options, cel.Variable(v, cel.DynType))
	}
	e, err := base.Extend(options...)
	if err != nil {
		return nil, fmt.Errorf("expr: variables %q: %w", vars, err)
	}
	checked, issues := e.Compile(src)
	if issues.Err() != nil {
		return nil, compileError(src, vars, issues)
	}
	program, err := e.Program(checked, cel.CustomDecoratorV2(decorate), cel.EvalOptions(cel.OptOptimize),
		cel.CostTracking(&estimator{}), cel.CostLimit(costLimit), cel.InterruptCheckFrequency(interruptEvery))
	if err != nil {
		// A constant that has no value, such as a wrong regular expression.
		return nil, &CompileError{Source: src, Line: 1, Column: 1, Message: err.Error()}
	}
	native := checked.NativeRep()
	return &Program{source: src, program: program, info: native.SourceInfo(), uses: references(native)}, nil
}

// Source returns the text that the program was compiled from.
func (p *Program) Source() string { return p.source }

// Uses reports whether the expression names the variable.
func (p *Program) Uses(variable string) bool { return p.uses[variable] }

// Eval computes the expression over values as [Decode] gives them. The result
// consists of nil, bool, int64, uint64, float64, string, []any and
// map[string]any, and shares no memory with vars. Errors are an [*EvalError].
func (p *Program) Eval(vars map[string]any) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
	defer cancel()
	return p.eval(ctx, vars)
}

func (p *Program) eval(ctx context.Context, vars map[string]any) (any, error) {
	out, _, err := p.program.ContextEval(ctx, vars)
	if ctx.Err() != nil {
		// Whatever the result: || and && may have swallowed the interruption.
		return nil, &EvalError{Source: p.source, Message: fmt.Sprintf("the expression takes longer than %v; make it simpler or its input smaller", timeLimit), Err: ErrTooExpensive}
	}
	if err != nil {
		return nil, p.evalError(err)
	}
	room := resultLimit
	result, err := toJSON(out, &room)
	if err != nil {
		return nil, p.evalError(err)
	}
	return result, nil
}

// Bool is [Program.Eval] for a condition: any other result is an error.
func (p *Program) Bool(vars map[string]any) (bool, error) {
	result, err := p.Eval(vars)
	if err != nil {
		return false, err
	}
	b, ok := result.(bool)
	if !ok {
		return false, &EvalError{Source: p.source, Message: "the result is " + kindOf(result) + ", not true or false"}
	}
	return b, nil
}

// baseEnv is the language without variables: building it costs a millisecond.
var baseEnv = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewCustomEnv(
		cel.CustomTypeAdapter(sortedAdapter{}),
		cel.StdLib(cel.StdLibSubset(env.NewLibrarySubset().AddExcludedFunctions(zoned()...))),
		// JSON does not tell 1 from 1.0, so neither do comparisons.
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.RegexProgramSizeLimit(maxRegexProgram),
	)
})

// zoned lists the functions that read the time zone database, which differs
// between machines.
func zoned() []*env.Function {
	ids := map[string]string{
		overloads.TimeGetFullYear:     overloads.TimestampToYearWithTz,
		overloads.TimeGetMonth:        overloads.TimestampToMonthWithTz,
		overloads.TimeGetDayOfYear:    overloads.TimestampToDayOfYearWithTz,
		overloads.TimeGetDayOfMonth:   overloads.TimestampToDayOfMonthZeroBasedWithTz,
		overloads.TimeGetDate:         overloads.TimestampToDayOfMonthOneBasedWithTz,
		overloads.TimeGetDayOfWeek:    overloads.TimestampToDayOfWeekWithTz,
		overloads.TimeGetHours:        overloads.TimestampToHoursWithTz,
		overloads.TimeGetMinutes:      overloads.TimestampToMinutesWithTz,
		overloads.TimeGetSeconds:      overloads.TimestampToSecondsWithTz,
		overloads.TimeGetMilliseconds: overloads.TimestampToMillisecondsWithTz,
	}
	var out []*env.Function
	for name, id := range ids {
		out = append(out, env.NewFunction(name, env.NewOverload(id, nil, nil)))
	}
	return out
}

func references(a *ast.AST) map[string]bool {
	uses := map[string]bool{}
	for _, r := range a.ReferenceMap() {
		if r.Name != "" {
			uses[r.Name] = true
		}
	}
	return uses
}

// compileError reports the first mistake in the text: later ones are often its
// consequences.
func compileError(src string, vars []string, issues *cel.Issues) *CompileError {
	all := issues.Errors()
	first := slices.MinFunc(all, func(a, b *cel.Error) int {
		if d := a.Location.Line() - b.Location.Line(); d != 0 {
			return d
		}
		return a.Location.Column() - b.Location.Column()
	})
	message, _, _ := strings.Cut(first.Message, " (in container")
	if strings.HasPrefix(message, "undeclared reference") {
		message += " (known here: " + strings.Join(vars, ", ") + ")"
	}
	return &CompileError{
		Source: src, Line: max(first.Location.Line(), 1), Column: max(first.Location.Column()+1, 1), Message: message,
	}
}

func (p *Program) evalError(err error) *EvalError {
	e := &EvalError{Source: p.source, Message: cut(err.Error())}
	var cancelled interpreter.EvalCancelledError
	var place *types.Err
	switch {
	case errors.As(err, &cancelled):
		e.Message, e.Err = fmt.Sprintf("the expression costs more than %d units; make it simpler or its input smaller", costLimit), ErrTooExpensive
	case errors.Is(err, ErrTooExpensive):
		e.Err = ErrTooExpensive
	case errors.As(err, &place):
		at := p.info.GetStartLocation(place.NodeID())
		if at.Line() > 0 {
			e.Line, e.Column = at.Line(), at.Column()+1
		}
	}
	return e
}

// cut bounds a message: CEL quotes keys of the input, however long.
func cut(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "..."
}
