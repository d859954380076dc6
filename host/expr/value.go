package expr

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// resultLimit bounds a result, in bytes of text plus valueBytes for every value:
// parts of the input that are used many times are small in CEL and huge as JSON.
const (
	resultLimit = 32 << 20
	valueBytes  = 8
)

// sortedAdapter gives CEL its values. Go walks a map in a different order each
// time, and an expression such as m.map(k, k) would show it.
type sortedAdapter struct{}

func (a sortedAdapter) NativeToValue(value any) ref.Val {
	switch v := value.(type) {
	case map[string]any:
		return sortedMap{types.NewStringInterfaceMap(a, v)}
	case map[ref.Val]ref.Val:
		return sortedMap{types.NewRefValMap(a, v)}
	case []any:
		return types.NewDynamicList(a, v)
	case []ref.Val:
		return types.NewRefValList(a, v)
	}
	return types.DefaultTypeAdapter.NativeToValue(value)
}

// sortedMap hides the walks of a Mapper but for an ordered one.
type sortedMap struct{ traits.Mapper }

func (m sortedMap) Iterator() traits.Iterator {
	var keys []ref.Val
	for it := m.Mapper.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, compareKeys)
	return types.NewRefValList(types.DefaultTypeAdapter, keys).Iterator()
}

// unsorted walks a map faster, for what does not depend on the order.
func unsorted(m traits.Mapper) traits.Mapper {
	if s, ok := m.(sortedMap); ok {
		return s.Mapper
	}
	return m
}

// decorate charges for the lists and maps written in an expression, sorts the
// maps, which CEL builds without asking the adapter, and bounds matches.
func decorate(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	if call, ok := isMatch(i); ok {
		return boundMatch(call), nil
	}
	c, ok := i.(interpreter.InterpretableConstructor)
	if !ok || c.Type() == types.ListType && isConstant(c) {
		return i, nil // CEL makes a constant list once
	}
	return literal{i}, nil
}

func isConstant(c interpreter.InterpretableConstructor) bool {
	return !slices.ContainsFunc(c.InitVals(), func(i interpreter.InterpretableV2) bool {
		_, constant := i.(interpreter.InterpretableConst)
		return !constant
	})
}

type literal struct{ interpreter.InterpretableV2 }

func (l literal) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := l.InterpretableV2.Exec(frame)
	construction.charge(frame, v)
	if m, ok := v.(traits.Mapper); ok {
		return sortedMap{m}
	}
	return v
}

func (l literal) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, l.Exec)
}

func compareKeys(a, b ref.Val) int {
	if d := cmp.Compare(a.Type().TypeName(), b.Type().TypeName()); d != 0 {
		return d
	}
	switch x := a.(type) {
	case types.String:
		return cmp.Compare(x, b.(types.String))
	case types.Int:
		return cmp.Compare(x, b.(types.Int))
	case types.Uint:
		return cmp.Compare(x, b.(types.Uint))
	case types.Bool:
		return cmp.Compare(fmt.Sprint(x), fmt.Sprint(b))
	}
	return 0
}

// toJSON copies a CEL value. room is what is left of resultLimit.
func toJSON(v ref.Val, room *int) (any, error) {
	if *room -= valueBytes; *room < 0 {
		return nil, tooLarge()
	}
	switch v := v.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		return uint64(v), nil
	case types.String:
		if *room -= len(v); *room < 0 {
			return nil, tooLarge()
		}
		return string(v), nil
	case types.Double:
		if f := float64(v); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f, nil
		}
		return nil, fmt.Errorf("the result %v is no JSON number", float64(v))
	case traits.Mapper:
		return mapToJSON(v, room)
	case traits.Lister:
		return listToJSON(v, room)
	}
	return nil, fmt.Errorf("the result is of type %s, which JSON does not have; string(...) may help", v.Type().TypeName())
}

func mapToJSON(m traits.Mapper, room *int) (any, error) {
	out := map[string]any{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		k := it.Next()
		name, ok := k.(types.String)
		if !ok {
			return nil, fmt.Errorf("the result has the key %v of type %s; JSON has only strings as keys", k.Value(), k.Type().TypeName())
		}
		if *room -= len(name); *room < 0 {
			return nil, tooLarge()
		}
		value, err := toJSON(m.Get(k), room)
		if err != nil {
			return nil, err
		}
		out[string(name)] = value
	}
	return out, nil
}

func listToJSON(l traits.Lister, room *int) (any, error) {
	out := []any{}
	for it := l.Iterator(); it.HasNext() == types.True; {
		value, err := toJSON(it.Next(), room)
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	return out, nil
}

func tooLarge() error {
	return fmt.Errorf("%w: the result is larger than %d MiB", ErrTooExpensive, resultLimit>>20)
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}
