package runtime_test

// childMain is what a test process does that a test started as a process of
// its own; ok is false in the tests themselves.
func childMain() (code int, ok bool) { return 0, false }
