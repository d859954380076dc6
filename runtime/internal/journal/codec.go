package journal

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// Deterministic encoding, so that equal records are equal bytes; strict
// decoding, so that a record this program does not fully understand stops its
// run instead of being half obeyed.
var (
	encMode = must(cbor.CoreDetEncOptions().EncMode())
	decMode = must(cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		MaxArrayElements:  1 << 20,
		MaxMapPairs:       1 << 20,
	}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // constant options
	}
	return v
}

func encode(v any) []byte {
	data, err := encMode.Marshal(v)
	if err != nil {
		panic(err) // only our own plain structs get here
	}
	return data
}

func decode(data []byte, v any) error { return decMode.Unmarshal(data, v) }

// decodeEntry reads an entry and refuses formats it does not know.
func decodeEntry(data []byte) (*entry, error) {
	var head struct {
		Format int `cbor:"1,keyasint"`
	}
	if err := cbor.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	if head.Format != Format {
		return nil, fmt.Errorf("record format %d; this program knows format %d", head.Format, Format)
	}
	e := new(entry)
	if err := decode(data, e); err != nil {
		return nil, err
	}
	return e, nil
}
