package sandbox

import "math/rand/v2"

// random is the guest's random numbers: one ChaCha8 stream per index, so that
// one reading more or less does not shift what follows the next call.
type random struct {
	key    func(index int) [32]byte
	index  int
	stream *rand.ChaCha8 // nil until the first reading under the index
}

func (r *random) rekey(index int) { r.index, r.stream = index, nil }

func (r *random) read(p []byte) error {
	if r.stream == nil {
		r.stream = rand.NewChaCha8(r.key(r.index))
	}
	_, err := r.stream.Read(p) // never fails
	return err
}
