package expr

import "context"

// EvalContext is Eval with a context in place of the time limit.
func (p *Program) EvalContext(ctx context.Context, vars map[string]any) (any, error) {
	return p.eval(ctx, vars)
}
