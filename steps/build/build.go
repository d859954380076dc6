package build

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pawl-dev/pawl/host/abi"
)

// Options say what to build.
type Options struct {
	// Dir is the folder in which go runs. Defaults to the working directory.
	Dir string
	// Package is the package main, as given to go build. Defaults to ".".
	Package string
	// Out is the file to write, relative to the working directory. Its folder
	// is made if it is missing. Required.
	Out string
	// Env is added to the environment of the process, such as "GOFLAGS=-tags=x".
	Env []string
	// Stderr is given what go prints, as it comes; the error of a failed build
	// has it too. Defaults to nothing.
	Stderr io.Writer
	// Describe runs a module and returns what it says of itself, or nil; the
	// result becomes the section abi.DescribeSection of the file. It is a
	// function because only the runtime may execute a module. Defaults to a
	// file without the section.
	Describe func(ctx context.Context, wasm []byte) ([]byte, error)
}

// Module builds the package and returns the digest of the file, "sha256:" and
// 64 hexadecimal digits. The file is replaced in one step, and not touched if
// its content would be the same. The error is ErrNoGo, a *CompileError, the
// error of Describe, one of the file system, or one that wraps the cause of
// ctx. Different Outs may be built concurrently.
func Module(ctx context.Context, o *Options) (digest string, err error) {
	if o == nil || o.Out == "" {
		return "", errors.New("build: Options.Out names no file")
	}
	wasm, err := compile(ctx, o)
	if err != nil {
		return "", err
	}
	if o.Describe != nil {
		text, err := o.Describe(ctx, wasm)
		if err != nil {
			return "", fmt.Errorf("build: what %s says of itself: %w", filepath.Base(o.Out), err)
		}
		if text != nil {
			if wasm, err = AppendSection(wasm, abi.DescribeSection, text); err != nil {
				return "", err
			}
		}
	}
	if err := replace(o.Out, wasm); err != nil {
		return "", fmt.Errorf("build: %w", err)
	}
	sum := sha256.Sum256(wasm)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// compile returns what go build makes of the package.
func compile(ctx context.Context, o *Options) ([]byte, error) {
	pkg := o.Package
	if pkg == "" {
		pkg = "."
	}
	if _, err := os.Stat(filepath.Join(o.Dir, ".")); err != nil {
		return nil, fmt.Errorf("build: the folder of the steps: %w", err)
	}
	temp, err := os.MkdirTemp("", "pawl-build-")
	if err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	defer os.RemoveAll(temp)
	out := filepath.Join(temp, "steps.wasm")

	// Without -buildvcs=false a commit that touches another file changes the
	// digest. These win over GOFLAGS, which stays the user's otherwise.
	cmd := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-o", out, pkg)
	cmd.Dir = o.Dir
	cmd.Env = append(append(os.Environ(), o.Env...), "GOOS=wasip1", "GOARCH=wasm")
	var printed bytes.Buffer
	cmd.Stderr = &printed
	if o.Stderr != nil {
		cmd.Stderr = io.MultiWriter(&printed, o.Stderr)
	}
	cmd.Stdout = cmd.Stderr
	switch err := cmd.Run(); {
	case errors.Is(err, exec.ErrNotFound):
		return nil, ErrNoGo
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("build: %w", context.Cause(ctx))
	case err != nil:
		return nil, &CompileError{Dir: o.Dir, Package: pkg, Output: strings.TrimSpace(printed.String()), Err: err}
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	return wasm, nil
}

// replace makes content the content of the file.
func replace(name string, content []byte) error {
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, content) {
		return nil
	}
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, "."+filepath.Base(name)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // of no effect once renamed
	_, err = temp.Write(content)
	if err = errors.Join(err, temp.Chmod(0o644), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), name)
}
