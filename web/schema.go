package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// schema is what a form needs of a JSON Schema. It is no validator: the engine
// checks the input.
type schema struct {
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Type        schemaType        `json:"type"`
	Format      string            `json:"format"`
	Pattern     string            `json:"pattern"`
	Enum        []json.RawMessage `json:"enum"`
	Const       json.RawMessage   `json:"const"`
	Default     json.RawMessage   `json:"default"`
	Minimum     json.Number       `json:"minimum"`
	Maximum     json.Number       `json:"maximum"`
	MinLength   int               `json:"minLength"`
	MaxLength   int               `json:"maxLength"`
	Required    []string          `json:"required"`
	Properties  properties        `json:"properties"`
	Items       json.RawMessage   `json:"items"`
	Ref         string            `json:"$ref"`
	// What a form cannot say.
	AllOf json.RawMessage `json:"allOf"`
	AnyOf json.RawMessage `json:"anyOf"`
	OneOf json.RawMessage `json:"oneOf"`
	If    json.RawMessage `json:"if"`
}

// schemaType is the type of a schema if it has one alone.
type schemaType string

// UnmarshalJSON takes a name, and a list as no type.
func (t *schemaType) UnmarshalJSON(text []byte) error {
	var name string
	if json.Unmarshal(text, &name) == nil {
		*t = schemaType(name)
	}
	return nil
}

// properties are those of an object in the order in which they stand.
type properties []property

type property struct {
	name string
	raw  json.RawMessage
}

// UnmarshalJSON keeps the order, which a map would not.
func (p *properties) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return errors.Join(err, errors.New("properties are an object"))
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		*p = append(*p, property{name.(string), raw}) // a key is a string
	}
	return nil
}

// schemas reads the schemas of one document.
type schemas struct {
	root json.RawMessage
	// objects are those on the way of references, by their pointers: taken apart
	// for each reference, a document of many would take minutes.
	objects map[string]map[string]json.RawMessage
	fields  int // how many have been made
}

// read returns the schema that the text says, following references within the
// document; ok is false for what a form does not understand.
func (s *schemas) read(raw json.RawMessage) (out schema, ok bool) {
	for range 8 { // references to references, but not in circles
		out = schema{}
		if json.Unmarshal(raw, &out) != nil {
			return out, false
		}
		if out.Ref == "" {
			return out, out.AllOf == nil && out.AnyOf == nil && out.OneOf == nil && out.If == nil
		}
		var found bool
		if raw, found = s.find(out.Ref); !found {
			return out, false
		}
	}
	return out, false
}

// find follows a JSON pointer within the document.
func (s *schemas) find(ref string) (json.RawMessage, bool) {
	path, inside := strings.CutPrefix(ref, "#/")
	if !inside {
		return nil, false
	}
	at, place := s.root, "#"
	for _, part := range strings.Split(path, "/") {
		var found bool
		if at, found = s.object(place, at)[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]; !found {
			return nil, false
		}
		place += "/" + part
	}
	return at, true
}

// object is the text at the place taken apart; nil if it is no object.
func (s *schemas) object(place string, text json.RawMessage) map[string]json.RawMessage {
	object, known := s.objects[place]
	if !known {
		if json.Unmarshal(text, &object) != nil {
			object = nil
		}
		s.objects[place] = object
	}
	return object
}
