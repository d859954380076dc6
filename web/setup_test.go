package web_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	var err error
	if work, err = os.MkdirTemp("", "pawl-web-test-"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(work)
		os.Exit(code)
	}))
}

// work is where this test process builds; it is removed at the end.
var work string
