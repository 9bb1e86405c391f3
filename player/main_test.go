package player

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/player/internal/readahead"
)

// Messages that are used too long are overwritten.
func TestMain(m *testing.M) {
	readahead.Mangle = true
	goleak.VerifyTestMain(m)
}
