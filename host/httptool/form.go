package httptool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Each value of a form repeats the names of all that it is in, so a request
// could become a form of any length.
const (
	maxForm     = 8 << 20 // bytes of a form
	maxFormName = 4 << 10 // bytes of one name in it
)

// encodeForm writes a JSON object as application/x-www-form-urlencoded:
// {"a":{"b":1},"c":["x"]} as a[b]=1&c[0]=x with its brackets encoded. Numbers
// keep their digits. What a form cannot say is an error, never left out: null,
// an empty list or object, and names that would be read as others.
func encodeForm(object []byte) ([]byte, error) {
	if len(object) == 0 {
		return nil, nil
	}
	if kindOf(object) != '{' {
		return nil, errors.New("the request goes into a form and must be an object")
	}
	f := &formWriter{dec: json.NewDecoder(bytes.NewReader(object))}
	f.dec.UseNumber()
	_, _ = f.dec.Token() // the brace
	if err := f.object(""); err != nil {
		return nil, err
	}
	return f.out.Bytes(), nil
}

type formWriter struct {
	dec *json.Decoder
	out bytes.Buffer
}

func (f *formWriter) value(name string) error {
	if len(name) > maxFormName {
		return fmt.Errorf("the field %s has more than %d bytes of names, too many for a form", shorten(name, maxQuoted), maxFormName)
	}
	token, err := f.dec.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		if !f.dec.More() {
			return fmt.Errorf("the field %s is empty and would be lost: a form has neither empty lists nor empty objects", shorten(name, maxQuoted))
		}
		if v == '[' {
			return f.list(name)
		}
		return f.object(name)
	case nil:
		return fmt.Errorf("the field %s is null, which a form cannot say; leave it out", shorten(name, maxQuoted))
	case bool:
		return f.pair(name, strconv.FormatBool(v))
	default: // a string or a number as it is written
		return f.pair(name, fmt.Sprint(v))
	}
}

func (f *formWriter) object(of string) error {
	seen := map[string]bool{}
	for f.dec.More() {
		token, err := f.dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		switch {
		case name == "" || strings.ContainsAny(name, "[]"):
			return fmt.Errorf("the name %q cannot be in a form, where brackets stand for what is inside what", shorten(name, maxQuoted))
		case seen[name]:
			return fmt.Errorf("the name %q is there twice", shorten(name, maxQuoted))
		}
		seen[name] = true
		if of != "" {
			name = of + "[" + name + "]"
		}
		if err := f.value(name); err != nil {
			return err
		}
	}
	_, err := f.dec.Token()
	return err
}

func (f *formWriter) list(of string) error {
	for i := 0; f.dec.More(); i++ {
		if err := f.value(of + "[" + strconv.Itoa(i) + "]"); err != nil {
			return err
		}
	}
	_, err := f.dec.Token()
	return err
}

func (f *formWriter) pair(name, value string) error {
	if f.out.Len() > 0 {
		f.out.WriteByte('&')
	}
	f.out.WriteString(url.QueryEscape(name))
	f.out.WriteByte('=')
	f.out.WriteString(url.QueryEscape(value))
	if f.out.Len() > maxForm {
		return fmt.Errorf("the request becomes a form of more than %d bytes", maxForm)
	}
	return nil
}
