package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Record holds the options of gorecord. The tags are the single source of flags,
// environment variables, defaults and help. An abbreviation that fits one option of
// stock means that one, whatever else it fits: those have the tag stock. The groups and
// their order are those of the help.
type Record struct {
	Topics []string `arg:"" optional:"" name:"topic" help:"Topics to record: names, or globs in which * stands for any text without a slash and ** for any text. With -e these are regular expressions that must match the whole topic name."`

	// TopicOption is what rosbag's record binary calls its positionals.
	TopicOption      []string `group:"What to record:" name:"topic" sep:"none" placeholder:"TOPIC" stock:"" help:"Record this topic; the same as naming it without an option. May be given several times."`
	All              bool     `group:"What to record:" short:"a" stock:"" help:"Record all topics, also those that appear later."`
	Regex            bool     `group:"What to record:" short:"e" stock:"" help:"Read the topics as regular expressions (RE2 syntax, matching the whole name)."`
	Exclude          []string `group:"What to record:" short:"x" sep:"none" placeholder:"REGEX" stock:"" help:"Exclude topics whose whole name matches this regular expression (not a glob). May be given several times. Does not apply to topics named in full."`
	Type             []string `group:"What to record:" sep:"none" placeholder:"TYPE" help:"Record all topics of this type, such as sensor_msgs/Image or sensor_msgs/*. May be given several times."`
	Node             []string `group:"What to record:" sep:"none" placeholder:"NODE" stock:"" help:"Record all topics that this node subscribes to. May be given several times."`
	NodePublications []string `group:"What to record:" sep:"none" placeholder:"NODE" help:"Record all topics that this node publishes. May be given several times."`
	Note             []string `group:"What to record:" sep:"none" placeholder:"KEY=VALUE" help:"Write this note into each bag: a line \"KEY: VALUE\" in a latched std_msgs/String on /metadata, which rosbag_metadata and bag-database read. May be given several times."`
	Params           bool     `group:"What to record:" help:"Store the parameters and the node graph as they are at the start, as latched JSON text on /gorecord/params and /gorecord/graph (std_msgs/String)."`
	Summary          string   `group:"What to record:" default:"on-loss" placeholder:"on-loss|always|never" enum:"on-loss,always,never" help:"When to write a summary of losses, by topic and cause, at the end of the last bag: a latched diagnostic_msgs/DiagnosticArray on /gorecord/summary (default ${default})."`
	Require          bool     `group:"What to record:" help:"Exit with 3 if a requested topic never appeared."`

	Limit   int                `group:"Limit each topic:" short:"l" placeholder:"N" stock:"" help:"Record N messages of each topic, then end."`
	MaxRate map[string]float64 `group:"Limit each topic:" placeholder:"TOPIC=HZ" mapsep:"none" help:"Record at most this many messages a second of a topic, or of those that a glob matches. May be given several times."`
	Every   map[string]int     `group:"Limit each topic:" placeholder:"TOPIC=N" mapsep:"none" help:"Record only each Nth message of a topic, or of those that a glob matches. May be given several times."`
	Count   map[string]int     `group:"Limit each topic:" placeholder:"TOPIC=N" mapsep:"none" help:"Record only N messages of a topic, or of each that a glob matches. May be given several times."`

	OutputPrefix    string   `group:"Names and splits:" short:"o" placeholder:"PREFIX" stock:"" help:"Name the bag PREFIX_<date>.bag."`
	OutputName      string   `group:"Names and splits:" short:"O" placeholder:"NAME" stock:"" help:"Name the bag NAME.bag."`
	NameTemplate    string   `group:"Names and splits:" placeholder:"NAME" help:"Name the bags by the letters of strftime (run_%Y%m%d_%H%M) and {time}, {split} and {host}. If the name exists, a number is appended."`
	FileMode        FileMode `group:"Names and splits:" placeholder:"MODE" help:"Mode of the bags, in octal digits: 0644 lets every user read them, 0660 lets the group write (default: 0640, reduced by the umask)."`
	Split           Split    `group:"Names and splits:" stock:"" help:"Continue in the next file, <name>_0.bag, <name>_1.bag and so on, where --size or --duration would end the recording. The old form --split=MiB also sets --size."`
	Size            *int64   `group:"Names and splits:" placeholder:"MiB" stock:"" help:"End, or with --split begin the next file, when the bag holds this many MiB."`
	Duration        Duration `group:"Names and splits:" placeholder:"TIME" stock:"" help:"End, or with --split begin the next file, after this time: seconds, or with unit m or h."`
	SplitAt         Duration `group:"Names and splits:" placeholder:"TIME" help:"Begin a next file at multiples of this time on the local clock: 10m is at 12:00, 12:10 and so on. Switches --split on."`
	RepeatLatched   bool     `group:"Names and splits:" stock:"" help:"Begin each file with the latest message of each latching publisher. This is the default."`
	NoRepeatLatched bool     `group:"Names and splits:" help:"Do not begin files with latched messages."`

	MinSpace  Size     `group:"Disk space and retention:" short:"L" default:"1G" placeholder:"SIZE" stock:"" help:"End when less than this is free on the disk: bytes, or with K, M or G (default ${default}, 0 = do not check)."`
	MaxSplits int      `group:"Disk space and retention:" placeholder:"N" stock:"" help:"With --split: keep only the newest N closed files of this recorder, those of earlier runs included."`
	MaxBytes  Size     `group:"Disk space and retention:" placeholder:"SIZE" help:"With --split, --stopped or --start-on: delete the oldest closed files of this recorder, those of earlier runs included, beyond this size together (such as 20G)."`
	MaxAge    Duration `group:"Disk space and retention:" placeholder:"TIME" help:"With --split, --stopped or --start-on: delete files of this recorder, those of earlier runs included, that were closed longer ago than this."`
	KeepFree  Size     `group:"Disk space and retention:" placeholder:"SIZE" help:"With --split, --stopped or --start-on: delete the oldest closed files of this recorder, those of earlier runs included, while less than this is free on the disk."`
	Pin       Duration `group:"Disk space and retention:" default:"5m" placeholder:"TIME" help:"The service ~pin protects the bags of this last span of time from --max-splits, --max-bytes, --max-age and --keep-free (default ${default})."`
	Recover   bool     `group:"Disk space and retention:" help:"At the start, repair each X.bag.active that a crashed recorder left in the directory: make X.bag of it while recording, and rename the original to X.bag.orig.active. Without this option they are only reported."`

	BZ2           bool          `group:"Compression, buffers and the disk:" name:"bz2" short:"j" stock:"" help:"Compress with bz2: smallest, slow."`
	LZ4           bool          `group:"Compression, buffers and the disk:" name:"lz4" stock:"" help:"Compress with lz4: fast, recommended on robots."`
	Adaptive      bool          `group:"Compression, buffers and the disk:" help:"With --bz2 or --lz4: while compression cannot keep up, step down from bz2 to lz4 to none for the next chunks, and up again later."`
	Chunksize     int           `group:"Compression, buffers and the disk:" default:"768" placeholder:"KiB" stock:"" help:"Close a chunk when it holds more than this many KiB (default ${default})."`
	Buffsize      int           `group:"Compression, buffers and the disk:" short:"b" default:"256" placeholder:"MiB" stock:"" help:"Buffer at most this many MiB in memory, and at most what the memory limit of the container or unit allows (default ${default}, 0 = no limit of its own)."`
	Overflow      string        `group:"Compression, buffers and the disk:" default:"drop" placeholder:"drop|block" enum:"drop,block" help:"When the buffer is full: drop = drop new messages of the topics with the most data waiting, and count them; block = stop reading from the publishers (default ${default})."`
	FlushInterval time.Duration `group:"Compression, buffers and the disk:" default:"1s" placeholder:"TIME" help:"Write a chunk that is not full after this time (default ${default}). A crash of the program loses at most this much."`
	Sync          string        `group:"Compression, buffers and the disk:" default:"interval" placeholder:"none|interval|chunk" enum:"none,interval,chunk" help:"When to wait for the disk: interval = every second or 32 MiB, chunk = after each chunk, none = leave it to the kernel (default ${default}). A power cut loses what was not synced."`

	Snapshot       bool     `group:"Snapshots:" stock:"" help:"Keep the latest messages in memory and write them to a bag only on a trigger: a message on snapshot_trigger (std_msgs/Empty), SIGUSR1, the service ~snapshot, or the key n. Apart from latched messages, no message is written to two snapshots."`
	SnapshotBeside bool     `group:"Snapshots:" help:"Record as usual, and take snapshots as with --snapshot."`
	PreRoll        Duration `group:"Snapshots:" placeholder:"TIME" help:"Begin a snapshot this long before its trigger (default: as much as is in memory)."`
	PostRoll       Duration `group:"Snapshots:" placeholder:"TIME" help:"Continue a snapshot for this long after its trigger; another trigger in that time extends it (default: end with the trigger)."`
	SnapshotBytes  Size     `group:"Snapshots:" placeholder:"SIZE" help:"Use this much of --buffsize for messages before the trigger (default, and at most, three quarters)."`

	Triggers `embed:""`

	Upload Upload `embed:""`

	Paused   bool `group:"Control and screen:" help:"Begin paused: open a bag, and record nothing until the space key is pressed or the service ~resume is called. Latched messages that arrived before are recorded at that point."`
	Stopped  bool `group:"Control and screen:" help:"Begin without a bag: the space key or the service ~start begins one, the service ~stop ends it."`
	Quiet    bool `group:"Control and screen:" short:"q" stock:"" help:"Print warnings and errors only: no live screen and no summary either."`
	NoScreen bool `group:"Control and screen:" help:"In a terminal: print only the log, without the live screen and its keys."`

	NoServices bool `group:"Control and screen:" help:"Do not offer the services ~start, ~stop, ~pause, ~resume, ~pause_recording, ~split, ~pin, ~snapshot and ~mark, nor the topics ~mark and ~status."`

	Publish        bool    `group:"ROS:" short:"p" stock:"" help:"Publish the name of each bag on the topic begin_write when recording to it begins."`
	TCPNoDelay     bool    `group:"ROS:" name:"tcpnodelay" stock:"" help:"Ask the publishers for TCP_NODELAY."`
	UDP            bool    `group:"ROS:" name:"udp" stock:"" help:"Receive over UDPROS from publishers that have it, which can lose messages; from the others over TCPROS."`
	EmbeddedMaster Address `group:"ROS:" placeholder:"HOST:PORT" help:"Run a ROS master inside this program (default address ${master})."`

	Web     Web `embed:""`
	Network `embed:""`

	ROS    `embed:""`
	Common `embed:""`

	Version kong.VersionFlag `help:"Print the version and exit."`
}

// RecordHelp introduces gorecord --help.
const RecordHelp = `Record ROS topics to a bag file (format V2.0).

ROS arguments work as in every node: __name:=, __ns:=, __master:=, __ip:=, __hostname:= and /from:=/to. ` +
	`Exit code: 0 all messages were recorded, 1 usage or start-up error, 2 internal error, 3 messages were lost: ` +
	`dropped by gorecord, dropped by a publisher (gaps in header.seq), or possibly when a connection broke.`

// Validate is called by kong and checks what the tags cannot say. The texts are
// stock's where stock has one.
func (r *Record) Validate() error {
	r.Topics, r.TopicOption = append(r.Topics, r.TopicOption...), nil
	r.oldSplit()
	r.Split.On = r.Split.On || r.SplitAt > 0
	return errors.Join(r.checkFiles(), r.checkBuffers(), r.checkSelection(), r.checkSnapshot(), r.checkTriggers(), r.Upload.check(),
		checkPositive("max-rate", r.MaxRate), checkPositive("every", r.Every), checkPositive("count", r.Count))
}

// checkFiles checks the options about names, splits and old files.
func (r *Record) checkFiles() error {
	var errs refusals
	size := int64(1)
	if r.Size != nil {
		size = *r.Size
	}
	errs.refuse(size <= 0, "--size %d: Split size must be positive: give a number of MiB, such as 1024", size)
	errs.refuse(size > 1<<40, "--size %d: Split size must be at most 1099511627776 MiB", size)
	errs.refuse(r.Split.MiB < 0, "--split %d: Split size must be positive: give a number of MiB, such as 1024", r.Split.MiB)
	errs.refuse(r.MaxSplits < 0, "--max-splits %d: Number of splits must be 0 or positive: 0 keeps all files", r.MaxSplits)
	errs.refuse(r.RepeatLatched && r.NoRepeatLatched, "--repeat-latched and --no-repeat-latched exclude each other: leave one out")
	errs.refuse(!r.Split.On && !r.Stopped && len(r.StartOn) == 0 && (r.MaxBytes != 0 || r.MaxAge != 0 || r.KeepFree != 0),
		"--max-bytes, --max-age and --keep-free delete closed files: they need --split, --stopped or --start-on")
	errs.refuse(r.OutputName != "" && r.OutputPrefix != "",
		"--output-prefix %s and --output-name %s: Can't set both prefix and name. Leave one out", r.OutputPrefix, r.OutputName)
	errs.refuse(r.NameTemplate != "" && r.OutputName+r.OutputPrefix != "",
		"--name-template stands in place of --output-prefix and --output-name: leave those out")
	errs.refuse(r.SplitAt != 0 && time.Duration(r.SplitAt) < time.Second, "--split-at %v must be at least 1s", time.Duration(r.SplitAt))
	for _, o := range []struct{ name, value string }{{"output-name", r.OutputName}, {"output-prefix", r.OutputPrefix}, {"name-template", r.NameTemplate}} {
		errs.refuse(strings.HasPrefix(o.value, "~/"),
			"--%s %s: only a shell knows what ~ is, and only at the start of a word: write the directory in full", o.name, o.value)
	}
	return errors.Join(errs...)
}

// checkBuffers checks the options about memory, compression and the disk.
func (r *Record) checkBuffers() error {
	var errs refusals
	errs.refuse(r.Buffsize < 0, "--buffsize %d: Buffer size must be 0 or positive: a number of MiB, 256 by default; 0 is no limit", r.Buffsize)
	errs.refuse(r.Buffsize > 1<<30, "--buffsize %d: Buffer size must be at most 1073741824 MiB", r.Buffsize)
	errs.refuse(r.Chunksize < 0, "--chunksize %d: Chunk size must be 0 or positive: a number of KiB, 768 by default", r.Chunksize)
	errs.refuse(r.Chunksize > 1<<20, "--chunksize %d: Chunk size must be at most 1048576 KiB, which is 1 GiB", r.Chunksize)
	errs.refuse(r.BZ2 && r.LZ4, "--bz2 and --lz4: Can only use one type of compression: leave one out")
	errs.refuse(r.Adaptive && !r.BZ2 && !r.LZ4, "--adaptive steps down from --bz2 or --lz4: give one of them")
	errs.refuse(r.FlushInterval < time.Millisecond, "--flush-interval %v must be at least 1ms", r.FlushInterval)
	return errors.Join(errs...)
}

// checkSelection checks the options about what is recorded, and when.
func (r *Record) checkSelection() error {
	var errs refusals
	errs.refuse(r.Paused && r.Stopped, "--paused and --stopped exclude each other: leave one out")
	errs.refuse(len(r.Topics) == 0 && !r.All && len(r.Type)+len(r.Node)+len(r.NodePublications)+len(r.Exclude) == 0,
		"No topics specified. Name topics, or use -a for all")
	errs.refuse(r.Limit != 0 && len(r.Topics) == 0,
		"--limit %d: Specifying a count is not valid with automatic topic subscription. Name the topics, or leave --limit out", r.Limit)
	errs.refuse(r.Limit < 0, "--limit %d: Limit must be 0 or positive: a number of messages for each topic; 0 is no limit", r.Limit)
	return errors.Join(errs...)
}

// refusals are errors of Validate.
type refusals []error

// refuse adds an error if bad is true.
func (r *refusals) refuse(bad bool, format string, args ...any) {
	if bad {
		*r = append(*r, fmt.Errorf(format, args...))
	}
}

// oldSplit reads "--split 1024 /topic", as rosbag's wrapper does: a word of digits
// is no topic's name, nor an expression that matches one.
func (r *Record) oldSplit() {
	if !r.Split.On || r.Split.MiB != 0 {
		return
	}
	for i, word := range r.Topics {
		if n, err := strconv.ParseInt(word, 10, 40); err == nil {
			r.Split.MiB = n
			r.Topics = slices.Delete(r.Topics, i, i+1)
			return
		}
	}
}

// SizeBytes returns --size, or the size that --split was given; zero means no limit.
func (r *Record) SizeBytes() int64 {
	if r.Size != nil {
		return *r.Size << 20
	}
	return r.Split.MiB << 20
}

// RecordFor returns --duration; zero means until the end.
func (r *Record) RecordFor() time.Duration { return time.Duration(r.Duration) }

// maxNumber is the limit of numbers in pairs.
const maxNumber = 1e9

// checkPositive returns an error about the pairs of an option without a topic or without a
// positive number.
func checkPositive[N int | float64](option string, pairs map[string]N) error {
	var errs []error
	for _, topic := range slices.Sorted(maps.Keys(pairs)) {
		if good := topic != "" && pairs[topic] > 0 && pairs[topic] <= maxNumber; !good { // NaN is not good either
			errs = append(errs, &ValueError{option, topic, "want TOPIC=N with a positive N, of at most 1e9"})
		}
	}
	return errors.Join(errs...)
}
