package standin

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

var (
	place = regexp.MustCompile(`\{[^{}\s]+\}`)
	whole = regexp.MustCompile(`^\{[^{}\s]+\}$`)
)

// Fill puts the fields of a request into an answer, or any other value into the
// places {name} of a JSON text. A name with dots leads into fields of fields.
func Fill(text json.RawMessage, fields map[string]any) (json.RawMessage, error) {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("the answer is not JSON: %w", err)
	}
	return json.Marshal(fill(v, fields))
}

func fill(v any, fields map[string]any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = fill(e, fields)
		}
	case []any:
		for i, e := range v {
			v[i] = fill(e, fields)
		}
	case string:
		if whole.MatchString(v) {
			return field(fields, v)
		}
		return place.ReplaceAllStringFunc(v, func(name string) string { return asText(field(fields, name)) })
	}
	return v
}

// field looks {a.b} up.
func field(fields map[string]any, name string) any {
	var v any = fields
	for part := range strings.SplitSeq(strings.Trim(name, "{}"), ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[part]
	}
	return v
}

func asText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}
