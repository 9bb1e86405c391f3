package main

import (
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/rosbag"
)

// options translates the command line, but for the node, what aborts the end, and notes.
func options(c *config.Record, log *zap.Logger) recorder.Options {
	all := c.All
	if len(c.Exclude) > 0 && !all && !c.Regex && len(c.Type)+len(c.Node)+len(c.NodePublications) == 0 {
		log.Warn("Exclusion regex given, but no topics to subscribe to. Adding implicit 'record all'.")
		all = true
	}
	program.WarnGlobLike(log, "-x", c.Exclude)
	if c.Regex {
		program.WarnGlobLike(log, "-e", c.Topics)
	}
	o := recorder.Options{
		Log: log,

		Control: new(recorder.Control),
		Begin:   begin(c),
		Select: recorder.Selection{
			Topics: c.Topics, All: all, Regex: c.Regex, Exclude: c.Exclude, Types: c.Type, Nodes: c.Node, NodePublications: c.NodePublications,
		},
		Publish:       c.Publish,
		Output:        recorder.Output{Prefix: c.OutputPrefix, Name: c.OutputName, Template: c.NameTemplate, Mode: os.FileMode(c.FileMode)},
		Adaptive:      c.Adaptive,
		ChunkBytes:    memory(c).ChunkBytes,
		BufferBytes:   memory(c).BufferBytes,
		FlushInterval: c.FlushInterval,
		Limit:         c.Limit,
		Limits:        limits(c),
		Duration:      c.RecordFor(),
		TCPNoDelay:    c.TCPNoDelay,
		UDP:           c.UDP,

		MaxBytes:        c.SizeBytes(),
		Split:           c.Split.On,
		SplitAt:         time.Duration(c.SplitAt),
		NoRepeatLatched: c.NoRepeatLatched,
		Retain:          recorder.Retention{Files: c.MaxSplits, Bytes: int64(c.MaxBytes), Age: time.Duration(c.MaxAge), KeepFree: int64(c.KeepFree)},
		Recover:         c.Recover,
		MinSpace:        int64(c.MinSpace),
		MinSpaceText:    c.MinSpace.String(),
		Snapshot:        snapshots(c),
		Params:          c.Params,
		Report:          reports[c.Summary],
		CountTopics:     hasScreen(c), // which lists them; without one these are stock's lines
	}
	if c.Split.MiB > 0 {
		log.Warn("Use of \"--split <MAX_SIZE>\" has been deprecated.  Please use --split --size <MAX_SIZE> or --split --duration <MAX_DURATION>")
	}
	if c.MaxSplits > 0 && !c.Split.On {
		log.Warn("--max-splits is ignored without --split")
		o.Retain.Files = 0
	}
	switch {
	case c.BZ2:
		o.Compression = rosbag.CompressionBZ2
	case c.LZ4:
		o.Compression = rosbag.CompressionLZ4
	}
	if c.Overflow == "block" {
		o.Overflow = recorder.OverflowBlock
	}
	o.Sync = map[string]recorder.Sync{"none": recorder.SyncNone, "chunk": recorder.SyncChunk}[c.Sync]
	return o
}

// memory translates the options that MemoryBytes depends on.
func memory(c *config.Record) recorder.Options {
	o := recorder.Options{
		ChunkBytes:  max(c.Chunksize<<10, 1), // --chunksize 0: one message in a chunk, as in stock
		BufferBytes: int64(c.Buffsize) << 20,
	}
	if c.Buffsize == 0 {
		o.BufferBytes = recorder.Unlimited
	}
	return o
}
