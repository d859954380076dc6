package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The example counter is what `pawl new counter` makes.
func TestCounterIsWhatNewMakes(t *testing.T) {
	files, err := render(map[string]string{"Name": "counter", "Go": goVersion, "Pawl": "../.."})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if name == "go.mod" || name == ".gitignore" { // the example is part of this module
			continue
		}
		got, err := os.ReadFile(filepath.Join("..", "..", "examples", "counter", name))
		if err != nil {
			t.Error(err)
			continue
		}
		if string(got) != text {
			t.Errorf("examples/counter/%s differs from cmd/pawl/template/%s.tmpl", name, name)
		}
	}
}

// What cannot be made is not begun.
func TestNewLeavesNothingHalfDone(t *testing.T) {
	dir := t.TempDir()
	full := filepath.Join(dir, "full")
	if err := os.MkdirAll(full, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(full, "main.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, dir, pawl, want string }{
		{"a folder with something in it", full, "", "it is there and not empty"},
		{"a name that no workflow has", filepath.Join(dir, "My-Steps"), "", filepath.Join(dir, "my_steps")},
		{"no clone there", filepath.Join(dir, "steps"), dir, "no clone of Pawl"},
		{"a file in its place", filepath.Join(full, "main.go"), "", "main_go"},
		{"a file on its way", filepath.Join(full, "main.go", "steps"), "", "was not made"},
	} {
		var out, told bytes.Buffer
		args := []string{"new", row.dir}
		if row.pawl != "" {
			args = append(args, "--pawl", row.pawl)
		}
		status := run(context.Background(), args, strings.NewReader(""), &out, &told)
		if status != statusUsage || out.Len() > 0 || !strings.Contains(told.String(), row.want) {
			t.Errorf("%s: status %d, %s%s", row.name, status, out.String(), told.String())
		}
	}
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, strings.TrimPrefix(path, dir))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(names, " "); got != " /full /full/main.go" {
		t.Errorf("there is %s", got)
	}
}
