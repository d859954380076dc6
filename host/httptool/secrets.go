package httptool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/host"
)

// minSecret is the least length of a secret's value in bytes. The forms of a
// shorter one are so short that cutting them out of answers would cut up
// everything else.
const minSecret = 6

// secrets are those that one tool needs, by name.
type secrets map[string]host.Secret

// read returns the values as they are now. The error names the secret.
func (s secrets) read(ctx context.Context) (map[string]string, error) {
	values := make(map[string]string, len(s))
	var failed error
	for _, name := range slices.Sorted(maps.Keys(s)) {
		v, err := s[name].Value(ctx)
		if err == nil {
			values[name] = v
			err = checkSecret(v)
		}
		if err != nil && failed == nil {
			failed = fmt.Errorf("secret %s: %w", name, err)
		}
	}
	if failed == nil {
		return values, nil
	}
	// Where a value comes from may say anything about why it does not come.
	maps.DeleteFunc(values, func(_, v string) bool { return len(within(v)) < minSecret })
	return nil, errors.New(shorten(newCutter(values).text(failed.Error()), maxMessage))
}

// within is a value without the space around it, which the end of a header loses:
// the receiver may know, and give back, only that.
func within(v string) string { return strings.Trim(v, " \t") }

func checkSecret(v string) error {
	switch {
	case len(within(v)) < minSecret:
		return fmt.Errorf("its value has fewer than %d bytes, too few to keep it out of records", minSecret)
	case !validHeaderText(v):
		return errors.New("its value has a line break or another control character, which a header cannot hold")
	}
	return nil
}

// refused says that the receiver did not accept the values.
func (s secrets) refused(values map[string]string) {
	for name, v := range values {
		if s[name].Refused != nil {
			s[name].Refused(v)
		}
	}
}

// accounts are the labels of the secrets, each once.
func (s secrets) accounts() []string {
	labels := map[string]bool{}
	for _, one := range s {
		if one.Account != "" {
			labels[one.Account] = true
		}
	}
	return slices.Sorted(maps.Keys(labels))
}
