package web_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/pawl-dev/pawl/web"
)

// Every code that the engine or a request can have is described, and has a
// status and something to do next of its own.
//
// Seen red with a code left out of the description, and with a hint left out.
func TestEveryCodeIsDescribed(t *testing.T) {
	t.Parallel()
	api, err := apiDocument()
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for _, code := range api.doc.Components.Schemas["Problem"].Value.Properties["code"].Value.Enum {
		described[code.(string)] = true
	}
	produced := map[string]bool{}
	for _, file := range []string{"errors.go", "../runtime/code.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range regexp.MustCompile(`(?m)^\t+\{[a-zA-Z.]+, "([a-z_]+)"\},`).FindAllStringSubmatch(string(source), -1) {
			produced[row[1]] = true
		}
	}
	if len(produced) < 28 {
		t.Fatalf("only %v", produced)
	}
	produced["internal"] = true
	for code := range produced {
		if !described[code] {
			t.Errorf("%s is not described", code)
		}
		if hint := web.HintOf(code); (hint == web.HintOf("no such code")) != (code == "internal") {
			t.Errorf("%s: no hint of its own: %q", code, hint)
		}
	}
	for code := range described {
		if !produced[code] {
			t.Errorf("%s is described, and nothing has it", code)
		}
	}
}
