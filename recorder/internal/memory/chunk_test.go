package memory

import (
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestSealWithoutItsCodec: a codec that panics costs the compression, not the messages.
func TestSealWithoutItsCodec(t *testing.T) {
	t.Parallel()
	c := New(Options{Limit: -1}).Get(1000, 1000)
	c.builder.Reset(nil)
	c.builder.AppendRun(testlink.Connection(), rosbag.Time{Sec: 7}, testlink.Frame(1, 1, 8), 1)
	if err := c.Seal(new(chunk.Compressor)); err == nil { // it has no codec
		t.Error("no error says that the chunk is not compressed")
	}
	messages := 0
	for m, err := range c.sealed.Messages() {
		if err != nil || m.Time != (rosbag.Time{Sec: 7}) {
			t.Errorf("got %v, %v", m, err)
		}
		messages++
	}
	if messages != 1 || c.sealed.Compression != rosbag.CompressionNone {
		t.Errorf("%d messages, compression %q", messages, c.sealed.Compression)
	}
}
