package toolfile_test

import (
	"fmt"

	"github.com/pawl-dev/pawl/host/httptool"
	"github.com/pawl-dev/pawl/host/toolfile"
)

// How a program that is configured by a file gets its tools. With a path, use
// Load.
func ExampleParse() {
	kinds := map[string]toolfile.Kind{"http": httptool.Kind}
	tools, err := toolfile.Parse("tools.toml", []byte(`
pawl = 1

[secret]
pay_token = { env = "PAY_TOKEN" }

[tool."pay.refund"]
kind    = "http"
effect  = "keyed"
url     = "https://api.pay.example/v1/refunds"
headers = { Authorization = "Bearer {secret.pay_token}" }
`), kinds)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range tools.IDs() {
		tool, _ := tools.Tool(id)
		fmt.Println(id, tool.Contract().Effect, tool.Contract().Timeout)
	}

	_, err = toolfile.Parse("tools.toml", []byte("pawl = 1\n[tool.x]\nkind = \"http\"\nulr = \"https://x.example\"\n"), kinds)
	fmt.Println(err)
	// Output:
	// pay.refund keyed 30s
	// tools.toml:4:1: unknown key "ulr" in [tool.x] (did you mean "url"?)
}
