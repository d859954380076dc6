package toolfile_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/host/toolfile"
)

// capture is a kind that keeps the readers of secrets.
func capture(into *map[string]host.Secret) map[string]toolfile.Kind {
	return map[string]toolfile.Kind{"http": func(id string, decode func(any) (host.Contract, error), secrets map[string]host.Secret) (host.Tool, error) {
		*into = secrets
		return kinds()["http"](id, decode, secrets)
	}}
}

func TestSecretsAreReadWhereTheyAre(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("windows", "from-file\r\n")
	write("two", "line\n\n")
	write("empty", "\n")
	write("large", strings.Repeat("x", 64<<10+1))
	t.Setenv("PAWL_TEST_TOKEN", "from-env")
	t.Setenv("PAWL_TEST_EMPTY", "")
	write(toolfile.Name, `pawl = 1
[secret]
env      = { env = "PAWL_TEST_TOKEN" }
no_env   = { env = "PAWL_TEST_NOT_SET" }
void     = { env = "PAWL_TEST_EMPTY" }
file     = { file = "windows" }
absolute = { file = '`+filepath.Join(dir, "windows")+`' }
two      = { file = "two" }
no_file  = { file = "gone" }
empty    = { file = "empty" }
large    = { file = "large" }
[tool.x]
kind = "http"
url  = "https://x.example/"
`)
	var secrets map[string]host.Secret
	if _, err := toolfile.Load(filepath.Join(dir, toolfile.Name), capture(&secrets)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"env": "from-env", "file": "from-file", "absolute": "from-file", "two": "line\n",
		"no_env": "! PAWL_TEST_NOT_SET is not set", "void": "! PAWL_TEST_EMPTY is not set",
		"no_file": "! gone", "empty": "! is empty", "large": "! is longer than 65536 bytes",
	} {
		value, err := secrets[name].Value(t.Context())
		if text, bad := strings.CutPrefix(want, "! "); bad {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %q, %v; want an error with %q", name, value, err, text)
			}
		} else if err != nil || value != want {
			t.Errorf("%s: %q, %v; want %q", name, value, err, want)
		}
	}
	t.Setenv("PAWL_TEST_TOKEN", "rotated-env")
	write("windows", "rotated-file")
	for name, want := range map[string]string{"env": "rotated-env", "file": "rotated-file"} {
		if value, err := secrets[name].Value(t.Context()); err != nil || value != want {
			t.Errorf("%s after the rotation: %q, %v", name, value, err)
		}
	}
}

// From the file to the wire and back: the value is sent, and comes out nowhere.
func TestSecretFromTheFileToTheWire(t *testing.T) {
	const value = "v3ry-s3cret-token"
	var sent string
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("Authorization")
		http.Error(w, "no such token: "+sent, http.StatusUnauthorized)
	}))
	defer receiver.Close()
	t.Setenv("PAWL_TEST_TOKEN", value)
	text := `pawl = 1
[secret]
token = { env = "PAWL_TEST_TOKEN" }
[tool."pay.refund"]
kind    = "http"
effect  = "keyed"
url     = "` + receiver.URL + `/refunds"
allow   = ["private"]
headers = { Authorization = "Bearer {secret.token}" }
`
	r, err := toolfile.Parse("tools.toml", []byte(text), kinds())
	if err != nil {
		t.Fatal(err)
	}
	tool, _ := r.Tool("pay.refund")
	c := &host.Call{Tool: "pay.refund", Type: abi.TypeJSON, Body: []byte(`{}`), Try: 1, Sent: func() {}}
	a := tool.Try(t.Context(), c)
	if sent != "Bearer "+value {
		t.Errorf("the receiver got %q", sent)
	}
	if a.Outcome != host.OutcomeNotApplied || a.Settles || string(a.Response.Body) != "no such token: Bearer [secret token]\n" {
		t.Errorf("%v, settles %v: %s", a.Outcome, a.Settles, a.Response.Body)
	}
	if digest := tool.Contract().Digest(); strings.Contains(strings.Join(tool.Contract().Differences(host.Contract{}), "\n")+digest, value) {
		t.Error("the value is in the contract")
	}
}
