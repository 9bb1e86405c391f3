package recorder

import (
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

func TestLadder(t *testing.T) {
	t.Parallel()
	const none, lz4, bz2 = bagfmt.CompressionNone, bagfmt.CompressionLZ4, bagfmt.CompressionBZ2
	type look struct {
		after  time.Duration // the look before
		queued int64         // of 1600
		want   bagfmt.Compression
	}
	for name, c := range map[string]struct {
		o     Options
		looks []look
	}{
		"not asked for": {Options{Compression: bz2}, []look{{0, 1600, bz2}, {time.Hour, 0, bz2}}},
		"step by step": {Options{Compression: bz2, Adaptive: true}, []look{
			{0, 399, bz2},
			{0, 400, lz4},
			{0, 799, lz4},
			{0, 800, none},
			{0, 1600, none},
		}},
		"lz4 has one step": {Options{Compression: lz4, Adaptive: true}, []look{{0, 399, lz4}, {0, 400, none}, {0, 1600, none}}},
		"up when the queue has been short for long": {Options{Compression: bz2, Adaptive: true}, []look{
			{0, 1600, lz4},
			{0, 1600, none},
			{time.Minute, 99, none}, // since now
			{upAfter - 1, 99, none},
			{1, 99, lz4},
			{upAfter - 1, 99, lz4},
			{1, 99, bz2},
			{time.Hour, 0, bz2},
		}},
		"a queue that is long for a moment begins it anew": {Options{Compression: lz4, Adaptive: true}, []look{
			{0, 400, none},
			{time.Second, 0, none},
			{upAfter - 1, 100, none},
			{1, 0, none},
			{upAfter - 1, 0, none},
			{1, 0, lz4},
		}},
	} {
		c.o.ChunkBytes, c.o.BufferBytes = 1, 1600
		l := newCompressionController(&c.o)
		now := time.Now()
		for i, look := range c.looks {
			now = now.Add(look.after)
			l.queued = look.queued
			before := l.at
			if stepped := l.look(now); stepped != (l.at != before) {
				t.Errorf("%s: look %d says %v", name, i, stepped)
			}
			if got := l.compression(); got != look.want {
				t.Errorf("%s: look %d: %s, want %s", name, i, got, look.want)
			}
		}
	}
}

// TestAdaptive: what bz2 cannot take is compressed less, nothing is lost, memory stays
// within the budget, and the account says what was done.
func TestAdaptive(t *testing.T) {
	t.Parallel()
	const messages = 1000
	core, logs := observer.New(zap.WarnLevel)
	p := testPipeline(t, Options{Log: zap.New(core), Compression: bagfmt.CompressionBZ2, Adaptive: true, ChunkBytes: 50_000, BufferBytes: 1, Overflow: OverflowBlock}, nil)
	l := open(t, p, "/t", "/p")
	testlink.PublishPlain(l, messages)
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	_, byFile := testlink.Numbers(t, p.out.Target())
	testlink.CheckCount(t, "in the file", byFile, 1, messages)
	stored := p.sink.encoder.controller.stored
	if len(stored) < 2 {
		t.Errorf("chunks: %v", stored)
	}
	if logs.FilterMessage("compression does not keep up: less of it for the next chunks").Len() == 0 {
		t.Errorf("not told that compression does not keep up: %v", logs.All())
	}
	if p.sink.encoder.controller.queued != 0 || p.pool.Waiting != 0 || p.pool.Held != p.pool.Idle {
		t.Errorf("at the end %d bytes are queued, %d wait, %d of %d are idle", p.sink.encoder.controller.queued, p.pool.Waiting, p.pool.Idle, p.pool.Held)
	}
}
