package runtime

import (
	"errors"
	"testing"
)

// Whatever text comes as a cursor, it is refused as input or names one place,
// whose run is known.
func FuzzCursor(f *testing.F) {
	const run = "01KB9Q3E7N2T5M8R4W6Y0ZABCD"
	f.Add("")
	f.Add(place{rankStuck, run}.cursor())
	f.Add(place{rankEnded, "12345678" + run}.cursor())
	f.Add(place{rankEnded, "1234567"}.cursor())
	f.Add(place{'d', run}.cursor())
	f.Add("YQ==")
	f.Fuzz(func(t *testing.T, text string) {
		// Seen red with ranks behind the last one allowed.
		p, err := placeOf(text)
		switch {
		case err != nil:
			if !errors.Is(err, ErrInvalidInput) {
				t.Errorf("%q: %v is no error of the input", text, err)
			}
		case text == "":
			if p != (place{}) {
				t.Errorf("no cursor begins at %+v", p)
			}
		default:
			again, err := placeOf(p.cursor())
			if err != nil || again != p || p.rank < rankStuck || p.rank > rankEnded || len(p.run()) != len(run) {
				t.Errorf("%q is taken for %+v, and its cursor for %+v, %v", text, p, again, err)
			}
		}
	})
}
