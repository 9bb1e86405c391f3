package encode

import (
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestLadder(t *testing.T) {
	t.Parallel()
	const none, lz4, bz2 = rosbag.CompressionNone, rosbag.CompressionLZ4, rosbag.CompressionBZ2
	type look struct {
		after  time.Duration // the look before
		queued int64         // of 1600
		want   rosbag.Compression
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
		c.o.Room = 1600
		l := newCompressionController(&c.o)
		now := time.Now()
		for i, look := range c.looks {
			now = now.Add(look.after)
			l.queued = look.queued
			before := l.at
			if stepped := l.update(now); stepped != (l.at != before) {
				t.Errorf("%s: look %d says %v", name, i, stepped)
			}
			if got := l.steps[l.at]; got != look.want {
				t.Errorf("%s: look %d: %s, want %s", name, i, got, look.want)
			}
		}
	}
}

// TestQueuedBytes: what is queued counts until a compressor has it.
func TestQueuedBytes(t *testing.T) {
	t.Parallel()
	e := New(Options{Log: zap.NewNop(), Compression: rosbag.CompressionLZ4, Room: 1 << 20, Workers: 2})
	pool := memory.New(memory.Options{Limit: -1})
	var all []*memory.Chunk
	for range 5 {
		c := pool.Get(1000, 1000)
		c.Builder().Reset(nil)
		c.Builder().AppendRun(testlink.Connection(), rosbag.Time{}, testlink.Frame(1, 1, 8), 1)
		e.Put(c)
		all = append(all, c)
	}
	if got := e.controller.queued; got != 5000 {
		t.Errorf("%d bytes are queued, want 5000", got)
	}
	e.Start(func() bool { return true })
	for _, c := range all {
		e.Await(c)
	}
	e.Close()
	e.Wait()
	if got := e.controller.queued; got != 0 {
		t.Errorf("at the end %d bytes are queued", got)
	}
}

// TestChunksThatAreNotCompressed are sealed all the same, so that their messages are written, or can be counted. Only a
// compressor that fails causes a warning.
func TestChunksThatAreNotCompressed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		Options
		skip     bool
		warnings int
	}{
		"no compression": {},
		"given up":       {Options: Options{Compression: rosbag.CompressionLZ4, Workers: 1}, skip: true},
		"failed":         {Options: Options{Compression: "zip", Workers: 1}, warnings: 1},
	} {
		core, logs := observer.New(zap.WarnLevel)
		tc.Log = zap.New(loglimit.Core(core))
		e := New(tc.Options)
		e.Start(func() bool { return tc.skip })
		for range 3 {
			c := memory.New(memory.Options{Limit: -1}).Get(1000, 1000)
			c.Builder().Reset(nil)
			c.Builder().AppendRun(testlink.Connection(), rosbag.Time{}, testlink.Frame(1, 1, 8), 1)
			e.Put(c)
			e.Await(c)
			if c.Sealed() == nil || c.Sealed().Compression != rosbag.CompressionNone || len(c.Sealed().Counts) != 1 {
				t.Errorf("%s: sealed as %+v", name, c.Sealed())
			}
		}
		e.Close()
		e.Wait()
		if n := logs.Len(); n != tc.warnings {
			t.Errorf("%s: %d warnings, want %d", name, n, tc.warnings)
		}
	}
}
