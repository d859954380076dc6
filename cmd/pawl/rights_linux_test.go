package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pawl-dev/pawl/kv"
)

// A process of this test's binary is pawl with these arguments if this is set.
const argumentsVariable = "PAWL_TEST_ARGUMENTS"

// somebody is a user who is not the owner of anything here.
const somebody = 65534

func storeIn(t *testing.T, dir string) string {
	t.Helper()
	data := filepath.Join(dir, "data")
	store, err := kv.Open(data, nil)
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// pawlAs runs pawl under a user's id and expects exit status 5 with one problem
// on standard error.
func pawlAs(t *testing.T, uid uint32, args ...string) problem {
	t.Helper()
	text, err := json.Marshal(append(args, "--json"))
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", &stdout, &stderr
	cmd.Env = append(os.Environ(), argumentsVariable+"="+string(text))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid, NoSetGroups: uid == uint32(os.Getuid())}}
	err = cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != statusUnavailable {
		t.Errorf("%q ended with %v, want exit status 5\n%s%s", args, err, &stdout, &stderr)
	}
	var said struct{ Error problem }
	if err := json.Unmarshal(stderr.Bytes(), &said); err != nil {
		t.Errorf("%q said %q: %v", args, &stderr, err)
	}
	return said.Error
}

// Whoever may not use the data directory is told which directory, who he is,
// which right is missing, and what to do.
//
// Seen red with the rule for any file, which ends with exit status 2.
func TestDataDirectoryWithoutRights(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can be another user")
	}
	for name, row := range map[string]struct {
		dir, files os.FileMode
		owner      int
		lacks      string // D is the directory
	}{
		"somebody else's directory": {0o700, 0o600, 0, "read D"},
		"a read-only directory":     {0o500, 0o600, somebody, "write into D"},
		"somebody else's files":     {0o777, 0o600, 0, "read and write D/"},
		"read-only files":           {0o700, 0o400, somebody, "read and write D/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent, err := os.MkdirTemp("", "pawl")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(parent) })
			data := storeIn(t, parent)
			files, err := filepath.Glob(filepath.Join(data, "*"))
			for _, file := range files {
				err = errors.Join(err, os.Chown(file, row.owner, row.owner), os.Chmod(file, row.files))
			}
			err = errors.Join(err, os.Chown(data, row.owner, row.owner), os.Chmod(data, row.dir), os.Chmod(parent, 0o755))
			if err != nil || len(files) < 3 {
				t.Fatal(files, err)
			}
			for _, args := range [][]string{{"runs", "--data", data}, {"show", "r", "--data", data}, {"serve", "--listen", "127.0.0.1:0", "--data", data}} {
				p := pawlAs(t, somebody, args...)
				lacks := fmt.Sprintf("user %d may not %s", somebody, strings.ReplaceAll(row.lacks, "D", data))
				if p.Code != "store_unavailable" || !strings.Contains(p.Message, data) || !strings.Contains(p.Hint, lacks) || !strings.Contains(p.Hint, "--data DIR") {
					t.Errorf("%q: %+v", args, p)
				}
			}
		})
	}
}

// A file system that is mounted read-only is told apart from missing rights.
func TestDataDirectoryMountedReadOnly(t *testing.T) {
	t.Parallel()
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=128m"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(mount, syscall.MNT_DETACH) })
	data := storeIn(t, mount)
	if err := syscall.Mount("", mount, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if p := pawlAs(t, uint32(os.Getuid()), "runs", "--data", data); p.Code != "store_unavailable" || !strings.Contains(p.Hint, data+" is mounted read-only") {
		t.Errorf("%+v", p)
	}
}

// A directory that a newer version wrote, or that is none, is refused in words,
// and stays as it is.
//
// Seen red without a look at the format.
func TestDataDirectoryThatIsNotOurs(t *testing.T) {
	t.Parallel()
	data := storeIn(t, t.TempDir())
	name := filepath.Join(data, "STORE")
	anchor, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const header = 28
	binary.BigEndian.PutUint32(anchor[8:], binary.BigEndian.Uint32(anchor[8:])+1)
	binary.BigEndian.PutUint32(anchor[header:], crc32.Checksum(anchor[:header], crc32.MakeTable(crc32.Castagnoli)))
	if err := os.WriteFile(name, anchor, 0o600); err != nil {
		t.Fatal(err)
	}
	p := pawlAs(t, uint32(os.Getuid()), "runs", "--data", data)
	if p.Code != "store_unavailable" || !strings.Contains(p.Message, name) || !strings.Contains(p.Message, "use a newer version of Pawl") || p.Hint == "" {
		t.Errorf("a newer format: %+v", p)
	}
	if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, anchor) {
		t.Errorf("the file was changed: %v", err)
	}
	p = pawlAs(t, uint32(os.Getuid()), "serve", "--listen", "127.0.0.1:0", "--data", name)
	if p.Code != "store_unavailable" || !strings.Contains(p.Message, name+": not a directory") || !strings.Contains(p.Hint, "--data DIR") {
		t.Errorf("a file: %+v", p)
	}
}
