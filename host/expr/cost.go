package expr

import (
	"sync/atomic"
	"time"

	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// costLimit bounds the work of one evaluation. A unit is a call, a step of a
// loop, a value that is read, compared or put together, or unitBytes of text. So
// an evaluation makes no more than 32 MiB of text or tens of MiB of values, and
// takes about a second at most.
const (
	costLimit = 2_000_000
	unitBytes = 16
)

// timeLimit is a net below the cost limit, for what has a cost that does not
// grow with its work, such as hashing long keys or sorting them for a walk. It
// is so much longer than the cost limit allows that no ordinary expression has a
// result on one machine and none on a slower one.
const (
	timeLimit      = 30 * time.Second
	interruptEvery = 16 // steps of loops between two looks at the time
)

// estimator tells CEL what a call costs: with variables that are dynamic, CEL
// takes almost everything for one unit, a concatenation of megabytes too.
type estimator struct {
	last atomic.Pointer[pattern] // the one that was used last: most are constant
}

type pattern struct {
	text string
	size int // of its program
}

// operation is charged like a call although it is none in CEL.
type operation string

const (
	// construction of a list or map that is written in an expression, charged by
	// all that is in it: so no value can exist that is larger than the limit,
	// however often its parts are shared.
	construction operation = "construction"
	// matching of a text by a pattern, charged beforehand: a single match of a
	// long text can take minutes.
	matching operation = "matching"
)

func (o operation) Function() string { return string(o) }
func (operation) OverloadID() string { return "" }

// charge ends the evaluation if the limit is reached.
func (o operation) charge(frame *interpreter.ExecutionFrame, of ...ref.Val) {
	if tracker := frame.CostTracker(); tracker != nil {
		tracker.EvalVarArgs(nil, 0, o, of, nil)
	}
}

// CallCost implements interpreter.ActualCostEstimator.
func (e *estimator) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	cost := 1 + uint64(e.size(function, args, result)/unitBytes)
	return &cost
}

// size is what a call read and made, in bytes. Computing it takes no longer than
// what it charges for.
func (e *estimator) size(function string, args []ref.Val, result ref.Val) int {
	switch operation(function) {
	case construction:
		return weight(args[0])
	case matching:
		return textSize(args[0]) * e.program(args[1])
	case operators.Add:
		// A macro collects its results in a list of its own, one by one; each
		// was charged when its list of one was made.
		if _, collects := args[0].(traits.MutableLister); collects {
			return 0
		}
		return weight(result)
	case operators.Equals, operators.NotEquals:
		return compared(args[0], args[1])
	case operators.In, operators.OldIn:
		return searched(args[0], args[1])
	}
	n := textSize(result)
	for _, a := range args {
		n += textSize(a)
	}
	return n
}

// program is the size of a pattern's program, in instructions: each byte of a
// text may meet each of them.
func (e *estimator) program(v ref.Val) int {
	text, ok := v.(types.String)
	if !ok {
		return 1
	}
	if last := e.last.Load(); last != nil && last.text == string(text) {
		return last.size
	}
	p := &pattern{text: string(text), size: maxRegexProgram}
	if n, err := types.RegexProgramSize(p.text); err == nil {
		p.size = n
	}
	e.last.Store(p)
	return p.size
}

func textSize(v ref.Val) int {
	switch v := v.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	}
	return 0
}

// weight is the size of a value with everything in it, or a size over the limit:
// parts that are shared count each time.
func weight(v ref.Val) int {
	n := 0
	weigh(v, &n)
	return n
}

// weigh reports whether to go on.
func weigh(v ref.Val, n *int) bool {
	*n += unitBytes + textSize(v)
	switch v := v.(type) {
	case traits.Mapper:
		for it := unsorted(v).Iterator(); it.HasNext() == types.True; {
			k := it.Next()
			*n += textSize(k)
			if !weigh(v.Get(k), n) {
				return false
			}
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			if !weigh(it.Next(), n) {
				return false
			}
		}
	}
	return *n <= costLimit*unitBytes
}

// compared is how much is looked at to compare two values if they are equal.
func compared(a, b ref.Val) int {
	switch a := a.(type) {
	case types.String, types.Bytes:
		if n := textSize(a); n == textSize(b) {
			return unitBytes + n
		}
	case traits.Mapper:
		b, ok := b.(traits.Mapper)
		if !ok || a.Size() != b.Size() {
			break
		}
		n := unitBytes
		for it := unsorted(a).Iterator(); it.HasNext() == types.True; {
			k := it.Next()
			n += unitBytes + textSize(k)
			if other, found := b.Find(k); found {
				n += compared(a.Get(k), other)
			}
		}
		return n
	case traits.Lister:
		b, ok := b.(traits.Lister)
		if !ok || a.Size() != b.Size() {
			break
		}
		n := unitBytes
		for i, j := a.Iterator(), b.Iterator(); i.HasNext() == types.True && j.HasNext() == types.True; {
			n += compared(i.Next(), j.Next())
		}
		return n
	}
	return unitBytes
}

// searched is how much is looked at to find a value that is the last one.
func searched(v, in ref.Val) int {
	list, ok := in.(traits.Lister)
	if !ok {
		return textSize(v) // the key of a map
	}
	n := 0
	for it := list.Iterator(); it.HasNext() == types.True; {
		n += compared(v, it.Next())
	}
	return n
}
