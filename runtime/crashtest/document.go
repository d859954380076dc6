package crashtest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// reader reads checkpoint documents and checks them against their schema.
type reader struct{ schema *jsonschema.Schema }

func newReader() (*reader, error) {
	const name = "checkpoint.schema.json"
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(pawl.CheckpointSchema()))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	schema, err := c.Compile(name)
	if err != nil {
		return nil, err
	}
	return &reader{schema}, nil
}

func (r *reader) read(text json.RawMessage) (*pawl.Checkpoint, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("the checkpoint document is not JSON: %w", err)
	}
	if err := r.schema.Validate(doc); err != nil {
		return nil, fmt.Errorf("the checkpoint document breaks its schema: %w", err)
	}
	c := new(pawl.Checkpoint)
	return c, json.Unmarshal(text, c)
}

// rising makes sure that the documents' sequence numbers rise along the run:
// with every boundary that took a record, and never back.
func rising(points []*boundary, rows []*Row) {
	for i := 1; i < len(points); i++ {
		last, row := rows[i-1], rows[i]
		if last.Seq == 0 || row.Seq == 0 {
			continue // not judged, for a reason of its own
		}
		if row.Seq < last.Seq || row.Seq == last.Seq && points[i].wrote(points[i-1]) {
			row.Mismatches = append(row.Mismatches,
				fmt.Sprintf("the document's seq is %d after %d at %s: it did not rise", row.Seq, last.Seq, last.Name))
		}
	}
}
