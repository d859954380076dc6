package toolfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Name is the name of a tools file beside a workflow.
const Name = "tools.toml"

// Place is where a tools file is, and who said so.
type Place struct {
	Path string
	// From is "--tools", "PAWL_TOOLS" or "beside the workflow".
	From string
}

func (p Place) String() string { return fmt.Sprintf("%s (%s)", p.Path, p.From) }

// Find returns the tools file that counts: the one that the flag --tools names,
// else the one that the environment's PAWL_TOOLS names, else tools.toml in the
// workflow's folder. It returns [ErrNoFile] if there is none of them, and an
// error that matches [fs.ErrNotExist] if the named one is missing.
func Find(flag, env, folder string) (Place, error) {
	for _, p := range []Place{{flag, "--tools"}, {env, "PAWL_TOOLS"}} {
		if p.Path == "" {
			continue
		}
		if _, err := os.Stat(p.Path); err != nil {
			return Place{}, fmt.Errorf("%s names a tools file that cannot be read: %w", p.From, err)
		}
		return p, nil
	}
	p := Place{filepath.Join(folder, Name), "beside the workflow"}
	_, err := os.Stat(p.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return Place{}, fmt.Errorf("%w in %s; write one there, or name one with --tools FILE or PAWL_TOOLS", ErrNoFile, folder)
	}
	if err != nil {
		return Place{}, fmt.Errorf("the tools file %s cannot be read: %w", p, err)
	}
	return p, nil
}
