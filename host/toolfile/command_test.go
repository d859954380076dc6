//go:build unix

package toolfile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/toolfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// printed makes secrets of shell scripts, by name. Their folder is dir.
func printed(t *testing.T, dir string, scripts map[string]string) map[string]host.Secret {
	t.Helper()
	var text strings.Builder
	text.WriteString("pawl = 1\n[secret]\nfrom_env = { env = \"PAWL_TEST_COMMAND\" }\n")
	for name, script := range scripts {
		fmt.Fprintf(&text, "%s = { command = ['sh', '-c', '''%s'''] }\n", name, script)
	}
	text.WriteString("[tool.x]\nkind = \"http\"\nurl = \"https://x.example/\"\n")
	var secrets map[string]host.Secret
	if _, err := toolfile.Parse(filepath.Join(dir, toolfile.Name), []byte(text.String()), capture(&secrets)); err != nil {
		t.Fatal(err)
	}
	return secrets
}

// lines is how many lines the file has that a script appends to.
func lines(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// A program prints the value and is found, has the environment and runs in the
// file's folder. What is wrong with it is told without any secret.
// Seen red with nothing cut out of the complaint, with the limit before the
// cut, without a limit of the output, and with what is left behind let run.
func TestSecretsFromCommands(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PAWL_TEST_COMMAND", "s3cr3t-of-the-environment")
	scripts := map[string][2]string{
		"plain":      {`echo tok-123`, "tok-123"},
		"windows":    {`printf "tok-123\r\n"`, "tok-123"},
		"one_line":   {`printf "a\nb\n\n"`, "a\nb\n"},
		"env":        {`echo "$PAWL_TEST_COMMAND"`, "s3cr3t-of-the-environment"},
		"folder":     {`pwd -P`, "! dir"},
		"no_input":   {`cat; echo tok-123`, "tok-123"},
		"complains":  {`echo locked >&2; echo tok-123`, "tok-123"},
		"fails":      {`echo one >&2; echo "is  locked" >&2; echo >&2; exit 3`, "! command sh: exit status 3: is  locked"},
		"silent":     {`exit 4`, "! command sh: exit status 4"},
		"nothing":    {`echo why not >&2; echo`, "! command sh: it printed nothing: why not"},
		"tells":      {`echo tok-secret; echo "bad tok-secret" >&2; exit 1`, "! command sh: exit status 1: bad [its output]"},
		"tells_env":  {`echo "bad $PAWL_TEST_COMMAND" >&2; exit 1`, "! command sh: exit status 1: bad [secret from_env]"},
		"at_the_end": {`printf "%0190d" 0 >&2; echo "$PAWL_TEST_COMMAND" >&2; exit 1`, "! command sh: exit status 1: " + strings.Repeat("0", 190) + "[secret fr..."},
		"endless":    {`i=0; while [ $i -lt 300 ]; do printf "%s%s" "$PAWL_TEST_COMMAND" "$PAWL_TEST_COMMAND" >&2; i=$((i+1)); done; exit 1`, "! command sh: exit status 1"},
		"escapes":    {`printf "\033[31mred\033[0m" >&2; exit 1`, "! command sh: exit status 1:  [31mred [0m"},
		"long":       {`head -c 65537 /dev/zero; sleep 600`, "! command sh: it printed more than 65536 bytes"},
		"whole":      {`head -c 65536 /dev/zero`, strings.Repeat("\x00", 65536)},
		"survivor":   {`sleep 600 & echo $! >survivor; echo tok-123`, "! command sh: it has left a process behind that keeps its output open"},
	}
	table := map[string]string{}
	for name, row := range scripts {
		table[name] = row[0]
	}
	secrets := printed(t, dir, table)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	scripts["folder"] = [2]string{"", real}
	for name, row := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			value, err := secrets[name].Value(context.Background())
			if want, bad := strings.CutPrefix(row[1], "! "); bad {
				if err == nil || err.Error() != want || value != "" {
					t.Errorf("%q, %v; want %s", value, err, want)
				}
			} else if err != nil || value != row[1] {
				t.Errorf("%.100q, %v; want %.100q", value, err, row[1])
			}
			if name == "survivor" {
				pid, err := os.ReadFile(filepath.Join(dir, "survivor"))
				if err != nil || runs(t, strings.TrimSpace(string(pid))) {
					t.Errorf("what was left behind, %s, still runs, %v", pid, err)
				}
			}
		})
	}
}

// Seen red with the value looked for as it is.
func TestAComplaintWithASecretThatHadSpaceAroundIt(t *testing.T) {
	t.Setenv("PAWL_TEST_COMMAND", " s3cr3t-of-the-environment ")
	secrets := printed(t, t.TempDir(), map[string]string{"token": `echo bad $PAWL_TEST_COMMAND >&2; exit 1`})
	if _, err := secrets["token"].Value(t.Context()); err == nil || err.Error() != "command sh: exit status 1: bad [secret from_env]" {
		t.Errorf("%v", err)
	}
}

func TestACommandThatIsNotThere(t *testing.T) {
	t.Parallel()
	var secrets map[string]host.Secret
	text := "pawl = 1\n[secret]\nx = { command = ['no-such-program-at-all'] }\n[tool.x]\nkind = 'http'\nurl = 'https://x.example/'\n"
	if _, err := toolfile.Parse("tools.toml", []byte(text), capture(&secrets)); err != nil {
		t.Fatal(err)
	}
	if _, err := secrets["x"].Value(t.Context()); err == nil || !strings.Contains(err.Error(), "no-such-program-at-all") {
		t.Errorf("%v", err)
	}
}

// A value counts for a minute, unless a receiver did not accept it: then a
// rotated one is read at once, and only once however many were refused.
// Seen red without the kept value, with one that is kept for ever, and with a
// refusal of an older value that drops a newer one.
func TestACommandIsNotRunForEachCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		runs := filepath.Join(dir, "runs")
		s := printed(t, dir, map[string]string{"token": `echo >>runs; echo "token-$(wc -l <runs)" | tr -d " "`})["token"]
		for _, step := range []struct {
			name    string
			wait    time.Duration
			refused string
			want    string
		}{
			{"the first time", 0, "", "token-1"},
			{"at once", 0, "", "token-1"},
			{"within the minute", 59 * time.Second, "", "token-1"},
			{"after the minute", time.Second, "", "token-2"},
			{"an old value is refused", 0, "token-1", "token-2"},
			{"the value is refused", 0, "token-2", "token-3"},
			{"it is refused once more", 0, "token-2", "token-3"},
		} {
			time.Sleep(step.wait)
			if step.refused != "" {
				s.Refused(step.refused)
			}
			if value, err := s.Value(t.Context()); err != nil || value != step.want {
				t.Errorf("%s: %q, %v; want %s", step.name, value, err, step.want)
			}
		}
		if n := lines(t, runs); n != 3 {
			t.Errorf("the command ran %d times", n)
		}
	})
}

// Those that wait for one command take its failure for theirs; a moment later
// it is tried again. Seen red with failures that are not kept, and with ones
// that are kept like values.
func TestFailuresOfACommand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		runs := filepath.Join(dir, "runs")
		s := printed(t, dir, map[string]string{"token": `echo >>runs; if [ -e ok ]; then echo tok-123; else echo locked >&2; exit 1; fi`})["token"]
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := s.Value(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "locked") {
					t.Errorf("%v", err)
				}
			})
		}
		all.Wait()
		if n := lines(t, runs); n != 1 {
			t.Errorf("the command ran %d times for 20 that waited", n)
		}
		if err := os.WriteFile(filepath.Join(dir, "ok"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if value, err := s.Value(t.Context()); value != "tok-123" || err != nil {
			t.Errorf("%q, %v", value, err)
		}
	})
}

// Whoever stops waiting leaves nothing behind: neither the program, nor what it
// has started, nor a failure for others. Seen red with the program alone being
// killed, and with the failure kept.
func TestACommandEndsWithWhoAsked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pids")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	s := printed(t, dir, map[string]string{"token": `if [ -e asked ]; then echo tok-123; exit; fi; touch asked; sleep 600 & echo $$ $! >pids; wait`})["token"]
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pids := make(chan []string, 1)
	go func() {
		text, _ := os.ReadFile(pipe) // until the script has written both
		cancel()
		pids <- strings.Fields(string(text))
	}()
	if value, err := s.Value(ctx); err == nil || !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("%q, %v", value, err)
	}
	if value, err := s.Value(t.Context()); err != nil || value != "tok-123" {
		t.Errorf("whoever asks next: %q, %v", value, err)
	}
	both := <-pids
	if len(both) != 2 {
		t.Fatalf("%q", both)
	}
	for _, pid := range both {
		if runs(t, pid) {
			t.Errorf("%s of %v still runs", pid, both)
		}
	}
}

// runs reports whether a process is there and no zombie that its new parent has
// not collected yet. One that was just killed gets a moment.
func runs(t *testing.T, text string) bool {
	t.Helper()
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		stat, err := os.ReadFile("/proc/" + text + "/stat")
		if syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(stat), ") Z ") {
			return false
		}
		time.Sleep(10 * time.Millisecond)
	}
	return true
}
