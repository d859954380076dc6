package host

// AppendCanonical shows the canonical form to the tests; outside it is seen
// only through RequestHash.
var AppendCanonical = appendCanonical
