package main

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// longDir is a data directory whose path is too long for a socket.
func longDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("a", 60), strings.Repeat("b", 60))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// shortDir is one whose path is not.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pawl-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func reach(t *testing.T, data string) error {
	t.Helper()
	conn, err := dialSocket(t.Context(), data)
	if err != nil {
		return err
	}
	return conn.Close()
}

// left is what is in the directory.
func left(t *testing.T, data string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Seen red with the mode left to the umask, and with the folder elsewhere left
// behind.
func TestASocketIsReachedAndGoes(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) string{"in the directory": shortDir, "elsewhere": longDir} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := open(t)
			s, err := openSocket(data)
			if err != nil {
				t.Fatal(err)
			}
			if err := reach(t, data); err != nil {
				t.Error(err)
			}
			if info, err := os.Stat(s.path); err != nil || info.Mode() != fs.ModeSocket|0o600 {
				t.Errorf("mode %v (%v), want a socket of its owner alone", info.Mode(), err)
			}
			if names := left(t, data); len(names) != 1 {
				t.Errorf("the directory holds %q", names)
			}
			if err := s.close(); err != nil {
				t.Error(err)
			}
			if err := reach(t, data); err == nil {
				t.Error("it is reached after the end")
			}
			if names := left(t, data); len(names) != 0 {
				t.Errorf("left behind: %q", names)
			}
			if dir := filepath.Dir(s.path); dir != data {
				if _, err := os.Stat(dir); err == nil {
					t.Errorf("%s is left", dir)
				}
			}
		})
	}
}

// A server that dies removes nothing; the next one does.
// Seen red with nothing removed at the start.
func TestWhatDeadServersLeftIsRemoved(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) string{"in the directory": shortDir, "elsewhere": longDir} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := open(t)
			dead, err := openSocket(data)
			if err != nil {
				t.Fatal(err)
			}
			if err := dead.Close(); err != nil { // the files stay
				t.Fatal(err)
			}
			binding := filepath.Join(data, bindingName+"1") // it died while it made one
			if err := os.Mkdir(binding, 0o700); err != nil {
				t.Fatal(err)
			}
			if listener, err := net.Listen("unix", filepath.Join(binding, "s")); err == nil {
				listener.(*net.UnixListener).SetUnlinkOnClose(false)
				_ = listener.Close()
			}
			if err := reach(t, data); err == nil {
				t.Error("the dead one is reached")
			}
			s, err := openSocket(data)
			if err != nil {
				t.Fatal(err)
			}
			if err := reach(t, data); err != nil {
				t.Error(err)
			}
			if names := left(t, data); len(names) != 1 {
				t.Errorf("the directory holds %q", names)
			}
			if _, err := os.Stat(dead.path); dead.path != s.path && err == nil {
				t.Errorf("%s is left", dead.path)
			}
			if err := s.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A copy of a directory names the socket of the server of the original: a server
// on the copy leaves it alone.
// Seen red with the socket removed whether or not it answers.
func TestTheSocketOfACopysOriginalStays(t *testing.T) {
	t.Parallel()
	original, copied := longDir(t), longDir(t)
	s, err := openSocket(original)
	if err != nil {
		t.Fatal(err)
	}
	if err := copyFile(filepath.Join(original, socketFile), filepath.Join(copied, socketFile)); err != nil {
		t.Fatal(err)
	}
	other, err := openSocket(copied)
	if err != nil {
		t.Fatal(err)
	}
	if err := reach(t, original); err != nil {
		t.Error(err)
	}
	if err := other.close(); err != nil {
		t.Error(err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// The file may say anything: nothing but a socket of a server is believed.
// Seen red with whatever the file names being removed.
func TestOnlyASocketIsBelieved(t *testing.T) {
	t.Parallel()
	data := longDir(t)
	victim := filepath.Join(t.TempDir(), elsewhereName+"1", "s")
	if err := os.MkdirAll(filepath.Dir(victim), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{victim, filepath.Join(data, socketFile)} {
		if err := os.WriteFile(path, []byte(victim), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	removeStale(data)
	if _, err := os.Stat(victim); err != nil {
		t.Error(err)
	}
}
