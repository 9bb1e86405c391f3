package recorder

import (
	"cmp"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/annotations"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/files"
	"github.com/gorosbag/gorosbag/recorder/internal/graph"
	"github.com/gorosbag/gorosbag/recorder/internal/health"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/retention"
	"github.com/gorosbag/gorosbag/recorder/internal/rotation"
	"github.com/gorosbag/gorosbag/recorder/internal/sink"
	"github.com/gorosbag/gorosbag/recorder/internal/subscribe"
)

// wire makes and connects the packages between the links and the files:
//
//	links -> intake -> encoder -> sink -> bag
//	                     \-> snapshots -> bag of a snapshot
//
// Each package has its own lock and calls in one direction only: the sink calls the intake, and
// the intake knows the queues behind it and nothing of files. If the intake wants something done to a file,
// it queues a command. out is the first file; nil for none yet. The recording begins at begun.
func (r *session) wire(outputs *bagfile.Series, retain *retention.Retainer, out *files.Bag, begun time.Time) {
	encoder := encode.New(r.o.encoder())
	r.in = intake.New(r.o.intake(encoder, begun))
	r.own = annotations.New(r.in, r.o.Log)
	r.health = health.New(r.o.health(r.in, r.own))
	r.sink = sink.New(r.sinkConfig(encoder, outputs, retain), out)
	encoder.Start(r.sink.SkipsCompression)
	r.sink.Start()
}

// health returns the configuration of the watcher of topics.
func (o *Options) health(accounts health.Accounts, own *annotations.Writer) health.Config {
	return health.Config{
		Log: o.Log, Sim: o.sim, Expect: o.Expect, Accounts: accounts,
		IsPlayer: o.graph().IsPlayer, Mark: own.FindingMark,
	}
}

// intake returns the configuration of the intake of a recording that begins at begun.
func (o *Options) intake(encoder *encode.Encoder, begun time.Time) intake.Config {
	c := intake.Config{
		Log:    o.Log,
		Node:   o.Node.Name(),
		Flush:  o.FlushInterval,
		Limits: o.limits(),
		Memory: memory.Options{
			Limit: o.MemoryBytes(), ChunkBytes: o.ChunkBytes,
			Blocks: o.Overflow == OverflowBlock,
		},
		Rotation: rotation.Options{
			Split: o.Split, MaxBytes: o.MaxBytes, Every: o.Duration, At: o.SplitAt,
			Stopped: o.Begin == control.StateStopped,
		},
		NoRepeat: o.NoRepeatLatched,
		Begin:    o.Begin,
		Sim:      o.sim,
		Begun:    begun,
		OnChange: o.Control.notify,
		Encoder:  encoder,
	}
	if o.Snapshot.Mode != control.SnapshotOff {
		kept := o.Snapshot.ring()
		c.Ring = &kept
	}
	return c
}

// limits returns all limits, that of all topics first.
func (o *Options) limits() []account.Limit {
	return append([]account.Limit{{Topics: "**", Count: o.Limit}}, o.Limits...)
}

// sinkConfig returns the configuration of the sink.
func (r *session) sinkConfig(encoder *encode.Encoder, outputs *bagfile.Series,
	retain *retention.Retainer,
) sink.Config {
	o, in := &r.o, r.in
	return sink.Config{
		Log: o.Log, In: in, Accounts: in.Accounts, Buffers: &in.Buffers, Sim: o.sim,
		Encoder: encoder, Compression: o.Compression, Report: annotations.LossReport(o.Report, r.lossesNow),
		ReportTopic: annotations.ReportTopic, AbortDrain: o.Hurry,
		SnapshotMode: o.Snapshot.Mode,
		Bags: files.Config{
			Outputs: outputs, Retain: retain,
			Disk:     disk.NewSpace(o.MinSpace, o.MinSpaceText, o.deletion(retain), outputs.Free, o.Log),
			Handover: o.handover(), OnOpen: o.onOpen, OnChange: o.Control.notify,
		},
	}
}

// deletion returns the function that says when retain begins to delete as much as is written.
func (o *Options) deletion(retain *retention.Retainer) func(now time.Time) control.Deletion {
	var each retention.Each
	if o.Split {
		each = retention.Each{Bytes: o.MaxBytes, Time: cmp.Or(o.Duration, o.SplitAt)}
	}
	return func(now time.Time) control.Deletion { return retain.Deletion(now, o.MinSpace, each) }
}

// subscriptions returns the configuration of the subscriptions.
func (o *Options) subscriptions() subscribe.Config {
	return subscribe.Config{
		Node: o.Node, Log: o.Log, TCPNoDelay: o.TCPNoDelay, UDP: o.UDP, CountTopics: o.CountTopics,
		IsNamed: o.names, Watch: o.Watch, Tap: o.Tap,
	}
}

// graph returns the client that asks the master and the nodes about topics.
func (o *Options) graph() *graph.Graph {
	return &graph.Graph{
		Node: o.Node, Log: o.Log, Interval: o.PollInterval, Survey: o.survey,
		Lists: o.Select.lists(), Selects: o.Select.selects, Unmatched: o.Select.unmatched,
		Excludes: o.Select.exclude.Match,
		Nodes:    o.Select.Nodes, NodePublications: o.Select.NodePublications,
	}
}

// encoder returns the options of the encoder.
func (o *Options) encoder() encode.Options {
	e := encode.Options{
		Log: o.Log, Compression: o.Compression, Adaptive: o.Adaptive, Room: o.MemoryBytes(),
		Workers: workers(o.Compression),
	}
	if e.Room < 0 {
		e.Room = DefaultBufferBytes
	}
	return e
}
