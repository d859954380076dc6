package runtime

import "errors"

// Check reads everything that the engine keeps in its store (chains against
// their heads, records against each other, payloads against their hashes,
// lists against runs) and returns what does not fit together, joined; nil for
// a sound store. It changes nothing and may take long on a large store. It
// reads one snapshot, so runs may go on meanwhile.
func (e *Engine) Check() error { return errors.Join(e.book.Check()...) }
