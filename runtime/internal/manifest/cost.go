package manifest

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// An evaluation is one schema applied to one value. A few hundred bytes of
// schema can ask for more of them than there is time: a chain of references, two
// from each to the next, or two in every level of a document.
const (
	// maxPerValue bounds the evaluations of one value alone. It does not depend
	// on the document, so it is checked when the schema is loaded.
	maxPerValue = 2_000
	// maxPerDocument bounds the evaluations of a document with all that is in
	// it: a few seconds.
	maxPerDocument = 1_000_000
)

// checkCost refuses a schema whose cost is too high for any document, or cannot
// be known.
func checkCost(top *jsonschema.Schema) error {
	seen := map[*jsonschema.Schema]bool{}
	var walk func(s *jsonschema.Schema) error
	walk = func(s *jsonschema.Schema) error {
		if seen[s] {
			return nil
		}
		seen[s] = true
		if s.DynamicRef != nil || s.RecursiveRef != nil {
			return fmt.Errorf("%s: references must be $ref; what a dynamic one costs cannot be known", where(s))
		}
		if s.DraftVersion != 2020 {
			return fmt.Errorf("%s: an inner $schema is of another draft; Pawl reads %s", where(s), draft)
		}
		left := maxPerValue
		if !spend(s, nil, &left) {
			return fmt.Errorf("%s: one value would be checked against more than %d schemas; its references multiply, or lead back to it", where(s), maxPerValue)
		}
		for t := range everything(s) {
			if err := walk(t); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(top)
}

// where is a schema's place: its file, if it has one, and a JSON Pointer.
func where(s *jsonschema.Schema) string {
	file, pointer, _ := strings.Cut(strings.TrimPrefix(s.Location, base), "#")
	if strings.HasPrefix(file, inline) {
		file = ""
	}
	return file + "#" + pointer
}

// affordable counts what validating the document takes at most, before that is
// done. The count itself ends at the limit.
func affordable(s *jsonschema.Schema, document any) bool {
	left := maxPerDocument
	return spend(s, document, &left)
}

// spend goes the way of the validator and reports whether left was enough. A nil
// value has nothing in it.
func spend(s *jsonschema.Schema, value any, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	for t := range sameValue(s) {
		if !spend(t, value, left) {
			return false
		}
	}
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			for t := range ofProperty(s, name) {
				if !spend(t, v, left) {
					return false
				}
			}
			if s.PropertyNames != nil && !spend(s.PropertyNames, nil, left) {
				return false
			}
		}
	case []any:
		for i, v := range value {
			for t := range ofItem(s, i) {
				if !spend(t, v, left) {
					return false
				}
			}
		}
	}
	return true
}

// sameValue yields the schemas that a schema applies to its own value.
func sameValue(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		for _, t := range []*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else} {
			if t != nil && !yield(t) {
				return
			}
		}
		for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
			for _, t := range list {
				if !yield(t) {
					return
				}
			}
		}
		for _, t := range s.DependentSchemas {
			if !yield(t) {
				return
			}
		}
		for _, d := range s.Dependencies {
			if t, ok := d.(*jsonschema.Schema); ok && !yield(t) {
				return
			}
		}
	}
}

// ofProperty yields the schemas for a property of an object.
func ofProperty(s *jsonschema.Schema, name string) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		t, known := s.Properties[name]
		if known && !yield(t) {
			return
		}
		for pattern, t := range s.PatternProperties {
			if pattern.MatchString(name) {
				known = true
				if !yield(t) {
					return
				}
			}
		}
		if t, ok := s.AdditionalProperties.(*jsonschema.Schema); ok && !known {
			yield(t)
		} else if !known && s.UnevaluatedProperties != nil {
			yield(s.UnevaluatedProperties)
		}
	}
}

// ofItem yields the schemas for an item of an array.
func ofItem(s *jsonschema.Schema, i int) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		rest := s.Items2020
		if rest == nil {
			rest = s.UnevaluatedItems
		}
		if i < len(s.PrefixItems) {
			rest = s.PrefixItems[i]
		}
		if rest != nil && !yield(rest) {
			return
		}
		if s.Contains != nil {
			yield(s.Contains)
		}
	}
}

// everything yields the schemas that a schema leads to.
func everything(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
		all := slices.Concat(s.PrefixItems, slices.Collect(sameValue(s)),
			slices.Collect(maps.Values(s.Properties)), slices.Collect(maps.Values(s.PatternProperties)),
			[]*jsonschema.Schema{additional, s.UnevaluatedProperties, s.PropertyNames, s.Items2020, s.UnevaluatedItems, s.Contains, s.ContentSchema})
		for _, t := range all {
			if t != nil && !yield(t) {
				return
			}
		}
	}
}
