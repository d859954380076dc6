package steps_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host/abi"
)

func goCommand(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out
}

func TestAGuestHasTheExportsAndImportsOfTheABI(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "guest.wasm")
	goCommand(t, "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-o", file, "./testdata/guest")
	module, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	imports, exports, err := wasmNames(module)
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for _, name := range imports {
		if !strings.HasPrefix(name, "wasi_snapshot_preview1.") {
			ours = append(ours, name)
		}
	}
	slices.Sort(ours)
	slices.Sort(exports)
	if diff := cmp.Diff([]string{
		abi.Module + "." + abi.FuncCall, abi.Module + "." + abi.FuncPut, abi.Module + "." + abi.FuncTake,
	}, ours); diff != "" {
		t.Errorf("imports (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"_initialize", "memory", abi.ExportDescribe, abi.ExportStep}, exports); diff != "" {
		t.Errorf("exports (-want +got):\n%s", diff)
	}
	if bytes.Contains(module, []byte("steps.Test was given no such tool")) {
		t.Error("the fakes of steps.Test are in the module")
	}
	t.Logf("%d bytes", len(module))
}

func TestTheSDKVetsForGuestsAndNeedsLittle(t *testing.T) {
	t.Parallel()
	goCommand(t, "vet", ".", "./testdata/guest")
	for _, dep := range strings.Fields(string(goCommand(t, "list", "-deps", "."))) {
		first, _, _ := strings.Cut(dep, "/")
		own := dep == "github.com/pawl-dev/pawl/steps" || dep == "github.com/pawl-dev/pawl/host/abi"
		if !own && strings.Contains(first, ".") {
			t.Errorf("package steps needs %s", dep)
		}
		if slices.Contains([]string{"net", "net/http", "text/template", "html/template", "testing", "crypto/tls"}, dep) {
			t.Errorf("package steps brings %s into every module", dep)
		}
	}
}

// wasmNames lists the imports ("module.name") and exports of a module.
func wasmNames(module []byte) (imports, exports []string, err error) {
	if !bytes.HasPrefix(module, []byte("\x00asm\x01\x00\x00\x00")) {
		return nil, nil, errors.New("not a core module")
	}
	r := &wasmReader{bytes.NewReader(module[8:])}
	for r.Len() > 0 {
		id, _ := r.ReadByte()
		section := &wasmReader{bytes.NewReader(r.bytes())}
		switch id {
		case 2:
			for range section.number() {
				name := fmt.Sprintf("%s.%s", section.bytes(), section.bytes())
				if kind, _ := section.ReadByte(); kind != 0 {
					return nil, nil, fmt.Errorf("import %s is no function", name)
				}
				section.number() // its type
				imports = append(imports, name)
			}
		case 7:
			for range section.number() {
				exports = append(exports, string(section.bytes()))
				_, _ = section.ReadByte()
				section.number()
			}
		}
	}
	return imports, exports, nil
}

type wasmReader struct{ *bytes.Reader }

func (r *wasmReader) number() uint64 {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return 0
	}
	return n
}

func (r *wasmReader) bytes() []byte {
	b := make([]byte, min(r.number(), uint64(r.Len())))
	_, _ = r.Read(b)
	return b
}
