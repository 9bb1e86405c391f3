package bagfmt_test

import (
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Tens of thousands of small bags are opened, each with buffers of its own. With the
	// default half of the time goes into collecting them.
	debug.SetGCPercent(800)
	debug.SetMemoryLimit(1 << 30)
	goleak.VerifyTestMain(m)
}
