package toolfile

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/host/tomlfile"
)

// maxSecretFile bounds the file of a secret in bytes.
const maxSecretFile = 64 << 10

var secretName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// secret is where a value is, never the value.
type secret struct {
	Env     string `toml:"env"`
	File    string `toml:"file"`
	Account any    `toml:"account" notyet:"the identity of receivers does not exist yet; remove it"`
	Command any    `toml:"command" notyet:"secrets from commands do not exist yet; use env or file"`
}

// secrets returns a function for each secret that reads its value as it is at
// that moment, so that a rotated secret needs no restart.
func (r *reader) secrets(table map[string]secret) map[string]func() (string, error) {
	read := make(map[string]func() (string, error), len(table))
	for _, name := range slices.Sorted(maps.Keys(table)) {
		s, path := table[name], tomlfile.Path{"secret", name}
		switch {
		case !secretName.MatchString(name):
			r.fault(path, "%q cannot be the name of a secret ([a-z][a-z0-9_]{0,63})", name)
		case (s.Env == "") == (s.File == ""):
			r.fault(path, `secret %s needs exactly one of env = "NAME" and file = "PATH"`, name)
		case s.Env != "":
			read[name] = func() (string, error) { return fromEnv(s.Env) }
		default:
			file := s.File
			if !filepath.IsAbs(file) {
				file = filepath.Join(r.folder, file)
			}
			read[name] = func() (string, error) { return fromFile(file) }
		}
		if read[name] == nil {
			// Known all the same, so that no tool complains of it too.
			read[name] = func() (string, error) { return "", errors.New("not described") }
		}
	}
	return read
}

func fromEnv(name string) (string, error) {
	v, ok := os.LookupEnv(name)
	if !ok || v == "" {
		return "", fmt.Errorf("the environment variable %s is not set", name)
	}
	return v, nil
}

func fromFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxSecretFile {
		return "", fmt.Errorf("%s is longer than %d bytes", path, maxSecretFile)
	}
	// Editors and `echo` end a file with a line break that nobody means.
	v := strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
	if v == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return v, nil
}
