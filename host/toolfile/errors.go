package toolfile

import "errors"

// ErrNoFile is returned by [Find] when nobody names a tools file and there is
// none beside the workflow.
var ErrNoFile = errors.New("toolfile: no tools.toml")
