package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// Describe runs a step module and returns what it says of itself (its steps
// and tools) as JSON, or nil if it says nothing. A build copies this into the
// module, so that nobody has to run the module to know it. cacheDir is that of
// [Options].
func Describe(ctx context.Context, wasm []byte, cacheDir string) (text []byte, err error) {
	opts := (&Options{CacheDir: cacheDir}).withDefaults()
	box, err := sandbox.New(&sandbox.Options{CacheDir: opts.CacheDir})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, box.Close(context.WithoutCancel(ctx))) }()
	sum := sha256.Sum256(wasm)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	module, err := box.Module(ctx, digest, func() ([]byte, error) { return wasm, nil })
	if err != nil {
		return nil, err
	}
	d, err := module.Describe(ctx)
	if d == nil || err != nil {
		return nil, err
	}
	return json.Marshal(d)
}
