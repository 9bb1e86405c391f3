package recorder

import (
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestAdaptive: what bz2 cannot take is compressed less, nothing is lost, memory stays
// within the budget, and the account says what was done.
func TestAdaptive(t *testing.T) {
	t.Parallel()
	const messages = 1000
	core, logs := observer.New(zap.WarnLevel)
	p := testPipeline(t, Options{Log: zap.New(core), Compression: rosbag.CompressionBZ2, Adaptive: true, ChunkBytes: 50_000, BufferBytes: 1, Overflow: OverflowBlock}, nil)
	l := open(t, p, "/t", "/p")
	testlink.PublishPlain(l, messages)
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	_, byFile := testlink.Numbers(t, p.Current().Target())
	checkCount(t, "in the file", byFile, 1, messages)
	stored := p.Chunks()
	if len(stored) < 2 {
		t.Errorf("chunks: %v", stored)
	}
	if logs.FilterMessage("compression does not keep up: less of it for the next chunks").Len() == 0 {
		t.Errorf("not told that compression does not keep up: %v", logs.All())
	}
	if u := p.Usage(); u.Waiting != 0 || u.Held != u.Idle {
		t.Errorf("at the end %d wait, %d of %d are idle", u.Waiting, u.Idle, u.Held)
	}
}
