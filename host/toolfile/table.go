package toolfile

import (
	"fmt"
	"reflect"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/tomlfile"
)

// table is the part of a tool's table that every kind has.
type table struct {
	Kind       string            `toml:"kind"`
	Effect     string            `toml:"effect"`
	Timeout    tomlfile.Duration `toml:"timeout"`
	Retry      retry             `toml:"retry"`
	Help       string            `toml:"help"`
	Compensate *compensate       `toml:"compensate"`
	Estimate   any               `toml:"estimate" notyet:"units are not estimated yet; they are read from the answer by units; remove it"`
	Approve    any               `toml:"approve" notyet:"approvals do not exist yet; remove it"`
	Approver   any               `toml:"approver" notyet:"approvals do not exist yet; remove it"`
}

type retry struct {
	Tries      int               `toml:"tries"`
	Backoff    tomlfile.Duration `toml:"backoff"`
	MaxBackoff tomlfile.Duration `toml:"max_backoff"`
}

type compensate struct {
	Tool    string            `toml:"tool"`
	Request map[string]string `toml:"request"`
}

// decode reads the table of one tool into the kind's own struct and returns
// what the table says for every kind. Together the two are all keys that the
// table may have, so a wrong one is found, and guessed at, in one reading.
func (r *reader) decode(id string, dst any) (host.Contract, error) {
	var common table
	parts := []reflect.Value{reflect.ValueOf(&common).Elem(), reflect.ValueOf(dst).Elem()}
	var fields []reflect.StructField
	for _, part := range parts {
		for i := range part.NumField() {
			fields = append(fields, part.Type().Field(i))
		}
	}
	file := reflect.New(fileType(id, r.ids(), reflect.StructOf(fields)))
	read, err := tomlfile.Read(r.name, r.data, file.Interface())
	if err != nil {
		return host.Contract{}, err
	}
	r.files[id] = read
	filled := file.Elem().FieldByName("Tool").FieldByName("This")
	for _, part := range parts {
		for i := range part.NumField() {
			part.Field(i).Set(filled.FieldByName(part.Type().Field(i).Name))
		}
	}
	return r.contract(id, &common), nil
}

// fileType is the type of a file in which only the table of one tool is looked
// at.
func fileType(id string, ids []string, table reflect.Type) reflect.Type {
	anything := reflect.TypeFor[any]()
	tools := make([]reflect.StructField, 0, len(ids))
	for i, other := range ids {
		if other == id {
			tools = append(tools, field("This", id, table))
		} else {
			tools = append(tools, field(fmt.Sprintf("Other%d", i), other, anything))
		}
	}
	return reflect.StructOf([]reflect.StructField{
		field("Pawl", "pawl", anything),
		field("Secret", "secret", anything),
		field("Tool", "tool", reflect.StructOf(tools)),
	})
}

func field(name, key string, typ reflect.Type) reflect.StructField {
	return reflect.StructField{Name: name, Type: typ, Tag: reflect.StructTag(`toml:"` + key + `"`)}
}

// contract makes of the common part what it says of the contract.
func (r *reader) contract(id string, t *table) host.Contract {
	at := func(keys ...any) tomlfile.Path { return append(tomlfile.Path{"tool", id}, keys...) }
	c := host.Contract{
		Timeout:    r.positive(at("timeout"), t.Timeout),
		Tries:      t.Retry.Tries,
		Backoff:    r.positive(at("retry", "backoff"), t.Retry.Backoff),
		MaxBackoff: r.positive(at("retry", "max_backoff"), t.Retry.MaxBackoff),
		Help:       t.Help,
	}
	if tries := at("retry", "tries"); t.Retry.Tries < 1 && r.fileOf(tries).Has(tries) {
		r.fault(tries, "tries must be 1 or more; 1 is a single sending")
	}
	if t.Effect != "" {
		var err error
		if c.Effect, err = host.ParseClass(t.Effect); err != nil {
			r.fault(at("effect"), "%q is no effect class", t.Effect).WithHint("read, keyed, verify or once")
		}
	}
	if t.Compensate != nil {
		c.Compensation = &host.Compensation{Tool: t.Compensate.Tool, Request: t.Compensate.Request}
	}
	return c
}
