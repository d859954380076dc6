package wasm_test

import (
	"bytes"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/runtime/internal/wasm"
)

const program = `package main

import (
	"encoding/json"
	"os"
)

func main() {
	var v any
	_ = json.NewDecoder(os.Stdin).Decode(&v)
	_ = json.NewEncoder(os.Stdout).Encode(v)
}
`

// goModule builds a Go program that reads and writes JSON, of about 3 MB.
func goModule(b *testing.B) []byte {
	b.Helper()
	dir := b.TempDir()
	source, out := filepath.Join(dir, "main.go"), filepath.Join(dir, "main.wasm")
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", out, source)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, text)
	}
	module, err := os.ReadFile(out)
	if err != nil {
		b.Fatal(err)
	}
	return module
}

// BenchmarkRewrite reads and rewrites a Go module. Beside it stand a scan (one
// look at each byte) and a copy of the same bytes, made in the same run.
func BenchmarkRewrite(b *testing.B) {
	module := goModule(b)
	b.SetBytes(int64(len(module)))
	b.ReportAllocs()
	var scanned, copied time.Duration
	for b.Loop() {
		m, err := wasm.Parse(module, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := m.Instrument(rewriting); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		begun := time.Now()
		_, _ = fnv.New64a().Write(module)
		scanned += time.Since(begun)
		begun = time.Now()
		_ = bytes.Clone(module)
		copied += time.Since(begun)
		b.StartTimer()
	}
	b.ReportMetric(b.Elapsed().Seconds()/scanned.Seconds(), "x-scan")
	b.ReportMetric(b.Elapsed().Seconds()/copied.Seconds(), "x-copy")
}
