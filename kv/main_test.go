package kv_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// childVar names the child that this test binary is to be, if any.
const childVar = "KV_TEST_CHILD"

func TestMain(m *testing.M) {
	child, ok := children[os.Getenv(childVar)]
	if !ok {
		goleak.VerifyTestMain(m)
		return
	}
	if err := child(os.Args[len(os.Args)-1]); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// child is a running child.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	input io.Closer
	lines *bufio.Reader
}

func startChild(t *testing.T, name, dir string) *child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], dir)
	cmd.Env = append(os.Environ(), childVar+"="+name)
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &child{t: t, cmd: cmd, input: input, lines: bufio.NewReader(output)}
}

// line returns the child's next line.
func (c *child) line() string {
	c.t.Helper()
	line, err := c.lines.ReadString('\n')
	if err != nil {
		c.t.Fatalf("child ended: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

// rest returns the child's remaining lines; the child ends by itself.
func (c *child) rest() string {
	c.t.Helper()
	text, err := io.ReadAll(c.lines)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Fatalf("child: %v\n%s", err, text)
	}
	return string(text)
}

// kill ends the child with SIGKILL and waits until it is gone.
func (c *child) kill() {
	c.t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		c.t.Fatal(err)
	}
	_ = c.cmd.Wait()
}
