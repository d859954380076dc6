package toolfile_test

import (
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/host/tomlfile"
	"github.com/pawl-dev/pawl/host/toolfile"
)

// Any text is read or refused with places; what is read makes valid contracts.
func FuzzParse(f *testing.F) {
	f.Add([]byte(published))
	f.Add([]byte("pawl = 1\n[secret]\nx = { command = ['a', 'b'], account = 'c' }\n"))
	f.Add([]byte(tool(`url = "https://x.example/a?b={c}"`, `body = "form"`, `key = { query = "key", format = "uuid" }`)))
	f.Add([]byte(tool(`url = "https://x.example/{a}"`, `verify = { url = "https://x.example/{key}" }`)))
	f.Add([]byte("pawl = 1\n[tool.x.y]\nkind = \"http\"\n"))
	f.Add([]byte("pawl = 1\n[[tool]]\nkind = \"http\"\n"))
	f.Add([]byte("pawl = 1\n[tool]\nx = 1\n[secret]\ny = 2\n"))
	f.Add([]byte("pawl = 1\ntool.\"x\".kind = \"http\"\ntool.\"x\".headers.\"A B\" = \"\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := toolfile.Parse("tools.toml", text, kinds())
		if err != nil {
			var mistakes tomlfile.Errors
			if !errors.As(err, &mistakes) || len(mistakes) == 0 {
				t.Fatalf("an error without a place: %v", err)
			}
			for _, m := range mistakes {
				// Text that is not UTF-8 is wrong as a whole, with no line.
				if m.Message == "" || (m.Line < 1 || m.Column < 1) && utf8.Valid(text) {
					t.Fatalf("an error without a place: %+v", m)
				}
			}
			return
		}
		for _, id := range r.IDs() {
			tool, _ := r.Tool(id)
			if err := tool.Contract().Validate(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
