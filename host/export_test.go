package host

// AppendCanonical shows the canonical form to the tests; outside it is seen
// only through RequestHash.
var AppendCanonical = appendCanonical

// Begin makes a send of the key live; it never returns.
func (s *Sends) Begin(k Key) { s.begin(k) }
