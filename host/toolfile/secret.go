package toolfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/tomlfile"
)

// maxSecret bounds what a file or a command gives as a secret, in bytes.
const maxSecret = 64 << 10

var (
	secretName   = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	accountLabel = regexp.MustCompile(`^[A-Za-z0-9._@:/+-]{1,64}$`)
)

// secret is where a value is, never the value.
type secret struct {
	Env     string   `toml:"env"`
	File    string   `toml:"file"`
	Command []string `toml:"command"`
	Account string   `toml:"account"`
}

// secrets makes the secrets of the file. Each reads its value as it is at that
// moment, so that a rotated one needs no restart.
func (r *reader) secrets(table map[string]secret) map[string]host.Secret {
	made := make(map[string]host.Secret, len(table))
	cut := &cutter{}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		s, path := table[name], tomlfile.Path{"secret", name}
		if !secretName.MatchString(name) {
			r.fault(path, "%q cannot be the name of a secret ([a-z][a-z0-9_]{0,63})", name)
		} else if s.sources() != 1 {
			r.fault(path, `secret %s needs exactly one of env = "NAME", file = "PATH" and command = ["PROGRAM", "ARGUMENT"]`, name)
		}
		if s.Account != "" && !accountLabel.MatchString(s.Account) {
			r.fault(path.Add("account"), "%q cannot be the label of an account ([A-Za-z0-9._@:/+-]{1,64})", s.Account)
		}
		made[name] = r.secret(name, s, cut)
	}
	return made
}

func (s secret) sources() (n int) {
	for _, given := range []bool{s.Env != "", s.File != "", len(s.Command) > 0} {
		if given {
			n++
		}
	}
	return n
}

func (r *reader) secret(name string, s secret, cut *cutter) host.Secret {
	made := host.Secret{Account: s.Account}
	switch {
	case s.sources() != 1:
		// Known all the same, so that no tool complains of it too.
		made.Value = func(context.Context) (string, error) { return "", errors.New("not described") }
	case s.Env != "":
		made.Value = func(context.Context) (string, error) { return fromEnv(s.Env) }
	case s.File != "":
		file := s.File
		if !filepath.IsAbs(file) {
			file = filepath.Join(r.folder, file)
		}
		made.Value = func(context.Context) (string, error) { return fromFile(file) }
	default:
		if slices.ContainsFunc(s.Command, func(arg string) bool { return strings.Contains(arg, "\x00") }) || s.Command[0] == "" {
			r.fault(tomlfile.Path{"secret", name, "command"}, "command must begin with a program, and no part of it may have a zero byte")
		}
		c := newCommand(s.Command, r.folder, cut)
		made.Value, made.Refused = c.read, c.refused
		cut.add(name, c.last)
		return made
	}
	cut.add(name, func() string { v, _ := made.Value(context.Background()); return v })
	return made
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
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxSecret {
		return "", fmt.Errorf("%s is longer than %d bytes", path, maxSecret)
	}
	v := withoutLineEnd(string(b))
	if v == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return v, nil
}

// withoutLineEnd removes one line break, with which editors and programs end a
// text and which nobody means.
func withoutLineEnd(s string) string {
	return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
}
