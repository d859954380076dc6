package telemetry

import pawl "github.com/pawl-dev/pawl/runtime"

// Other stands in metrics for whatever steps and tools make up.
const Other = "other"

// ungranted stands for the tools that a step has no grant for, whatever it calls
// them. No tool can have this id.
const ungranted = "(ungranted)"

// refused is the outcome of a call that never became an intent.
const refused = "refused"

// toolLabel is the tool of a call: the operator's id, of which there are as many
// as tools, never what a step calls it.
func toolLabel(e *pawl.Event) string {
	if e.Use == "" {
		return ungranted
	}
	return e.Use
}

// codeLabel keeps the codes that there is a bounded number of. The answers of
// HTTP receivers are told apart by their class.
func codeLabel(code string) string {
	switch {
	case code == "" || pawl.KnownCode(code):
		return code
	case len(code) == len("http_503") && code[:5] == "http_" && code[5] >= '1' && code[5] <= '5':
		return code[:6] + "xx"
	}
	return Other
}
