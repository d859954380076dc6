package house_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// arrows lists what each package may import of this module, and why. "x/..." is
// x and all below it. Tests may import what they like.
var arrows = map[string]struct {
	to  []string
	why string
}{
	"host/abi":      {nil, "both sides of the sandbox share it; a guest pays for what it imports"},
	"host":          {[]string{"host/abi"}, "the effect protocol knows no store and no kind of tool"},
	"host/expr":     {nil, "a leaf: expressions over JSON, whoever uses them"},
	"host/tomlfile": {nil, "a leaf: TOML with places, for both files"},
	"host/hosttest": {[]string{"host", "host/abi"}, "it sees a tool as the protocol does, and no kind of tool"},
	"host/httptool": {[]string{"host", "host/abi", "host/expr"}, "one kind of tool; it does not know where its description stood"},
	"host/toolfile": {[]string{"host", "host/abi", "host/expr", "host/tomlfile"}, "it is given the kinds, so it never imports one"},

	"kv":        {nil, "a store of bytes: it knows no run"},
	"kv/kvtest": {[]string{"kv"}, "it sees a store as the runtime does"},

	"steps":          {[]string{"host/abi"}, "it is compiled into every guest"},
	"steps/build":    {[]string{"host/abi"}, "building needs no runtime"},
	"steps/httpcall": {[]string{"steps", "host/abi"}, "it is compiled into the guests that want net/http, and only into them"},

	"runtime/internal/wasm":           {nil, "it reads and writes modules: no compiler, no guest"},
	"runtime/internal/sandbox":        {[]string{"host/abi", "runtime/internal/wasm"}, "it knows guests, and neither tools nor runs"},
	"runtime/internal/journal":        {[]string{"host", "host/abi", "kv"}, "it is the protocol's ledger over the store"},
	"runtime/internal/manifest":       {[]string{"host/abi", "host/expr", "host/tomlfile"}, "it reads files and starts nothing"},
	"runtime":                         {[]string{"runtime/internal/...", "host", "host/abi", "host/expr", "kv"}, "the engine: tools come to it as host.Tool, so it knows no kind"},
	"runtime/crashtest":               {[]string{"runtime", "host", "kv"}, "it sees a run from outside, as an embedder does"},
	"runtime/runtimetest":             {[]string{"runtime", "runtime/internal/...", "host/abi", "kv"}, "it writes records, as the engine would"},
	"runtime/internal/wasmtest":       {[]string{"host/abi"}, "it makes modules for tests, and knows nobody who loads them"},
	"runtime/proof":                   {nil, "tests only"},
	"runtime/proof/...":               {nil, "tests only"},
	"runtime/crashtest/fakes":         {[]string{"runtime/crashtest"}, "it speaks with the receivers and knows no engine"},
	"runtime/crashtest/fakes/standin": {nil, "a judge: it takes nobody's word, so it knows nobody"},

	"web":             {[]string{"runtime", "host", "host/abi"}, "the panel and the API see an engine as an embedder does"},
	"web/browsertest": {nil, "tests only"},
	"telemetry":       {[]string{"runtime", "host", "kv"}, "it listens to an engine as any observer does"},

	"cmd/...":      {[]string{"..."}, "the wiring"},
	"examples/...": {[]string{"..."}, "programs of their own"},

	"internal/house": {nil, "tests only"},
}

// Seen red with host importing kv, and with a package that is in no arrow.
func TestArrows(t *testing.T) {
	t.Parallel()
	packages := list(t, nil, "./...")
	if len(packages) < 10 {
		t.Fatalf("only %d packages", len(packages))
	}
	for _, p := range packages {
		rule, ok := ruleFor(p.path())
		if !ok {
			t.Errorf("%s is in no arrow: say in arrows_test.go what it may import, and why", p.path())
			continue
		}
		arrow := arrows[rule]
		for _, imported := range p.Imports {
			to, ours := strings.CutPrefix(imported, module+"/")
			if ours && !slices.ContainsFunc(arrow.to, func(pattern string) bool { return matches(pattern, to) }) {
				t.Errorf("%s imports %s; it may import only %v: %s", p.path(), to, arrow.to, arrow.why)
			}
		}
	}
}

// ruleFor returns the arrow of a package: its own, or the one of all below a
// folder.
func ruleFor(path string) (string, bool) {
	if _, ok := arrows[path]; ok {
		return path, true
	}
	for _, pattern := range slices.Sorted(maps.Keys(arrows)) {
		if matches(pattern, path) {
			return pattern, true
		}
	}
	return "", false
}

func matches(pattern, path string) bool {
	if pattern == "..." {
		return true
	}
	folder, below := strings.CutSuffix(pattern, "/...")
	return path == folder || below && strings.HasPrefix(path, folder+"/")
}

// onlyImporters says which package alone knows a library: when the library
// changes, one package does.
var onlyImporters = map[string]string{
	"github.com/tetratelabs/wazero": "runtime/internal/sandbox",
	"github.com/dgraph-io/badger":   "kv",
	"cel.dev/cel-go":                "host/expr",
	"github.com/pelletier/go-toml":  "host/tomlfile",
	"github.com/labstack/echo":      "web",
	"github.com/alecthomas/kong":    "cmd/pawl",
	// Libraries use OpenTelemetry's API alone: the program chooses what becomes of it.
	"go.opentelemetry.io/otel/sdk":        "cmd/pawl",
	"go.opentelemetry.io/otel/exporters":  "cmd/pawl",
	"github.com/prometheus/client_golang": "cmd/pawl",
}

// Seen red with host/toolfile importing go-toml.
func TestOnlyImporters(t *testing.T) {
	t.Parallel()
	for _, p := range list(t, nil, "./...") {
		for _, imported := range p.Imports {
			for library, only := range onlyImporters {
				if (imported == library || strings.HasPrefix(imported, library+"/")) && p.path() != only {
					t.Errorf("%s imports %s; only %s may know %s", p.path(), imported, only, library)
				}
			}
		}
	}
}

// standardOnly are packages that must build offline in a stranger's module:
// with everything below them they use the standard library and this module.
var standardOnly = []string{"host/abi", "steps", "steps/build", "steps/httpcall"}

// Seen red with steps importing rapid.
func TestStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"", "GOOS=wasip1 GOARCH=wasm"} {
		for _, path := range standardOnly {
			for _, dep := range list(t, strings.Fields(target), "-deps", "./"+path) {
				if !dep.Standard && !strings.HasPrefix(dep.ImportPath, module+"/") {
					t.Errorf("%s depends on %s (%s)", path, dep.ImportPath, target)
				}
			}
		}
	}
}
