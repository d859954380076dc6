package host_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Tools run on goroutines of their own: none may be left when they returned.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
