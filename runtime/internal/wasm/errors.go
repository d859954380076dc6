package wasm

import "fmt"

// FormatError says that a module cannot be read, or uses what is refused.
type FormatError struct {
	// Offset is where in the module, in bytes.
	Offset int
	// Section is the name of the section, empty outside of one.
	Section string
	// Feature is the name of a feature that is off and that the module needs;
	// empty if the module is damaged.
	Feature Feature
	Reason  string
}

func (e *FormatError) Error() string {
	where := fmt.Sprintf("at byte %d", e.Offset)
	if e.Section != "" {
		where += " (" + e.Section + " section)"
	}
	if e.Feature != "" {
		return fmt.Sprintf("%s it needs %s, which is off: %s", where, e.Feature, e.Reason)
	}
	return where + " " + e.Reason
}

// Feature is a part of WebAssembly that is refused, by its name.
type Feature string

// Features beyond WebAssembly 2.0.
const (
	FeatureComponents  Feature = "components"
	FeatureThreads     Feature = "threads"
	FeatureTailCalls   Feature = "tail calls"
	FeatureExceptions  Feature = "exceptions"
	FeatureMemory64    Feature = "64-bit memories"
	FeatureMultiMemory Feature = "several memories"
	FeatureGC          Feature = "garbage collection"
	FeatureTypedRefs   Feature = "typed function references"
	FeatureRelaxedSIMD Feature = "relaxed SIMD"
)

// LimitError says that a module is larger than it may be.
type LimitError struct {
	// What is too large, as the field of [Limits].
	What string
	// Function is the index of the function in which it is, imports counted;
	// -1 if it is the whole module.
	Function    int
	Have, Limit int
}

func (e *LimitError) Error() string {
	if e.Function < 0 {
		return fmt.Sprintf("its %s is %d and the limit is %d", e.What, e.Have, e.Limit)
	}
	return fmt.Sprintf("the %s of its function %d is %d and the limit is %d; split the function or build with less inlining", e.What, e.Function, e.Have, e.Limit)
}
