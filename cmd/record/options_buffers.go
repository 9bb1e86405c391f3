package main

import (
	"time"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/internal/text/timearg"
	"github.com/gorosbag/gorosbag/internal/text/units"
	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/rosbag"
)

// bufferSettings are the options of compression, of which at most one is on.
type bufferSettings struct{ bz2, lz4 bool }

func (b *bufferSettings) compression() rosbag.Compression {
	switch {
	case b.bz2:
		return rosbag.CompressionBZ2
	case b.lz4:
		return rosbag.CompressionLZ4
	}
	return ""
}

func (b *bufferSettings) group(o *recorder.Options) config.Group {
	rules := func() []config.Rule {
		return []config.Rule{
			{
				Bad: b.bz2 && b.lz4, Options: []string{"bz2", "lz4"},
				Reason: "Can only use one type of compression: leave out --bz2 or --lz4",
			},
			{
				Bad: o.Adaptive && b.compression() == "", Options: []string{"adaptive"},
				Reason: "steps down from --bz2 or --lz4: give one of them",
			},
		}
	}
	return config.Group{Title: "Compression, buffers and the disk", Rules: rules, Options: []config.Option{
		{
			Name: "bz2", Short: "j", Stock: true, Value: config.Switch(&b.bz2),
			Help: `Compress with bz2: smallest, slow.`,
		},
		{
			Name: "lz4", Stock: true, Value: config.Switch(&b.lz4),
			Help: `Compress with lz4: fast, recommended on robots.`,
		},
		{Name: "adaptive", Value: config.Switch(&o.Adaptive), Help: `
			With --bz2 or --lz4: while compression cannot keep up, step down from bz2 to lz4 to none for the next chunks, and up again later.`},
		{Name: "chunksize", Arg: "KiB", Default: "768", Stock: true, Value: config.Func(
			// 0: one message in a chunk, as in stock
			func(kib int) { o.ChunkBytes = max(kib<<10, 1) }, units.Int,
			units.AtLeast(0, "Chunk size must be 0 or positive: a number of KiB, 768 by default"),
			units.AtMost(1<<20, "Chunk size must be at most 1048576 KiB, which is 1 GiB")), Help: `
			Close a chunk when it holds more than this many KiB (default ${default}).`},
		{
			Name: "buffsize", Short: "b", Arg: "MiB", Default: "256", Stock: true,
			Value: config.Func(func(mib int) { o.BufferBytes = bufferBytes(mib) }, units.Int,
				units.AtLeast(0,
					"Buffer size must be 0 or positive: a number of MiB, 256 by default; 0 is no limit"),
				units.AtMost(1<<30, "Buffer size must be at most 1073741824 MiB")), Help: `
			Buffer at most this many MiB in memory, and at most what the memory limit of the container or unit allows (default ${default}, 0 = no
			limit of its own).`,
		},
		{Name: "overflow", Default: "drop", Value: config.OneOf(&o.Overflow, "drop|block", recorder.OverflowDrop, recorder.OverflowBlock), Help: `
			When the buffer is full: drop = drop new messages of the topics with the most data waiting, and count them; block = stop reading from the
			publishers (default ${default}).`},
		{Name: "flush-interval", Arg: "TIME", Default: "1s", Value: options.Seconds(&o.FlushInterval, units.AtLeast(timearg.Seconds(time.Millisecond), "want at least 1ms")), Help: `
			Write a chunk that is not full after this time (default ${default}). A crash of the program loses at most this much.`},
		{Name: "sync", Default: "interval", Value: config.OneOf(&o.Sync, "none|interval|chunk", recorder.SyncNone, recorder.SyncInterval, recorder.SyncChunk), Help: `
			When to wait for the disk: interval = every second or 32 MiB, chunk = after each chunk, none = leave it to the kernel (default
			${default}). A power cut loses what was not synced.`},
	}}
}

// bufferBytes returns what the recorder calls a buffer of some MiB, where 0 sets no limit.
func bufferBytes(mib int) int64 {
	if mib == 0 {
		return recorder.Unlimited
	}
	return int64(mib) << 20
}
