package readahead

import (
	"testing"

	"go.uber.org/goleak"
)

// The chunks of tests are small.
func TestMain(m *testing.M) {
	Mangle = true
	goleak.VerifyTestMain(m)
}
