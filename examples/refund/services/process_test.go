package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// process starts the services in a process of their own.
func process(t *testing.T, dir string) (s *services, cmd *exec.Cmd, stdin io.Closer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), self, "--listen", "127.0.0.1:0", "--ledger", dir, "--until-eof")
	cmd.Env = append(os.Environ(), asProcess+"=1")
	cmd.Stderr = os.Stderr
	stdin, err = cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return listening(t, dir, out), cmd, stdin
}

// Seen red with the broken last line left in the file.
func TestTheLedgerOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, cmd, _ := process(t, dir)
	if g := s.do(t, "POST", "/pay/refunds", "K", pay1); g.status != 201 {
		t.Fatalf("answer %+v", g)
	}
	s.client.CloseIdleConnections()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range s.says {
	}
	_ = cmd.Wait() // killed

	// A line that was being written when the process died was never answered for.
	f, err := os.OpenFile(filepath.Join(dir, "pay.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"n":3,"kind":"eff`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	s = setupIn(t, dir)
	if g := s.do(t, "POST", "/pay/refunds", "K", pay1); g != (got{201, `{"amount_cent":1490,"currency":"EUR","id":"rf_1","order":"W1001"}`}) {
		t.Errorf("answer after the restart %+v", g)
	}
	if n := s.count(t, kindEffect, "pay.refund"); n != 1 {
		t.Errorf("%d refunds", n)
	}
	if n := s.count(t, kindRequest, "pay.refund"); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// Seen red with a held request going on when its sender is gone, and with a slow
// one going on when the process ends.
func TestTheProcessEndsWithItsInputAndDropsWhatIsHeld(t *testing.T) {
	t.Parallel()
	s, cmd, stdin := process(t, t.TempDir())
	s.fault(t, `{"tool":"pay.refund","mode":"hold-before"}`)
	s.fault(t, `{"tool":"mail.send","mode":"slow(60000)"}`)
	answers := make(chan got, 2)
	go func() { answers <- s.send(context.Background(), "POST", "/pay/refunds", "K", pay1) }()
	if said := <-s.says; said != "held pay.refund before K" {
		t.Errorf("said %q", said)
	}
	go func() { answers <- s.send(context.Background(), "POST", "/mail/send", "", mail1) }()
	s.until(t, kindRequest, "mail.send")
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if g := <-answers; g.status != 0 {
			t.Errorf("answer %+v", g)
		}
	}
	for range s.says {
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the process ended with %v", err)
	}
	s.client.CloseIdleConnections()
	for _, tool := range []string{"pay.refund", "mail.send"} {
		if n := s.count(t, kindEffect, tool); n != 0 {
			t.Errorf("%d effects of %s that was held", n, tool)
		}
	}
}
