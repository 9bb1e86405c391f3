package config

import (
	"errors"
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
	TopicOption      []string `group:"What to record:" name:"topic" sep:"none" placeholder:"TOPIC" stock:"" help:"Record this topic, too: the same as a topic without an option. May be given several times."`
	All              bool     `group:"What to record:" short:"a" stock:"" help:"Record all topics, also those that appear later."`
	Regex            bool     `group:"What to record:" short:"e" stock:"" help:"Read the topics as regular expressions (RE2 syntax, matching the whole name)."`
	Exclude          []string `group:"What to record:" short:"x" sep:"none" placeholder:"REGEX" stock:"" help:"Leave out topics whose whole name matches. May be given several times. Does not apply to topics named in full."`
	Type             []string `group:"What to record:" sep:"none" placeholder:"TYPE" help:"Record all topics of this type, such as sensor_msgs/Image or sensor_msgs/*. May be given several times."`
	Node             []string `group:"What to record:" sep:"none" placeholder:"NODE" stock:"" help:"Record all topics that this node subscribes to. May be given several times."`
	NodePublications []string `group:"What to record:" sep:"none" placeholder:"NODE" help:"Record all topics that this node publishes. May be given several times."`
	Note             []string `group:"What to record:" sep:"none" placeholder:"KEY=VALUE" help:"Write this note into each bag: a line \"KEY: VALUE\" in a latched std_msgs/String on /metadata, which rosbag_metadata and bag-database read. May be given several times."`
	Params           bool     `group:"What to record:" help:"Store the parameters and the node graph as they are at the start, as latched JSON text on /gorecord/params and /gorecord/graph (std_msgs/String)."`
	Summary          string   `group:"What to record:" default:"on-loss" placeholder:"on-loss|always|never" enum:"on-loss,always,never" help:"When to write the account of what was lost, by topic and cause, at the end of the last bag: a latched diagnostic_msgs/DiagnosticArray on /gorecord/summary (default ${default})."`
	Require          bool     `group:"What to record:" help:"Exit with 3 when a topic that was asked for never appeared."`

	Limit   int                `group:"Less of each topic:" short:"l" placeholder:"N" stock:"" help:"Record only N messages on each topic, then end."`
	MaxRate map[string]float64 `group:"Less of each topic:" placeholder:"TOPIC=HZ" mapsep:"none" help:"Record at most this many messages a second of a topic, or of those that a glob matches. May be given several times."`
	Every   map[string]int     `group:"Less of each topic:" placeholder:"TOPIC=N" mapsep:"none" help:"Record only each Nth message of a topic, or of those that a glob matches. May be given several times."`
	Count   map[string]int     `group:"Less of each topic:" placeholder:"TOPIC=N" mapsep:"none" help:"Record only N messages of a topic, or of each that a glob matches. May be given several times."`

	OutputPrefix    string   `group:"Names and splits:" short:"o" placeholder:"PREFIX" stock:"" help:"Name the bag PREFIX_<date>.bag."`
	OutputName      string   `group:"Names and splits:" short:"O" placeholder:"NAME" stock:"" help:"Name the bag NAME.bag."`
	NameTemplate    string   `group:"Names and splits:" placeholder:"NAME" help:"Name the bags by the letters of strftime (run_%Y%m%d_%H%M) and {time}, {split} and {host}. A name that is taken gets a number behind."`
	Split           Split    `group:"Names and splits:" stock:"" help:"Go on in a next file, <name>_0.bag, <name>_1.bag and so on, where --size or --duration would end the recording. The old form --split=MB also sets --size."`
	Size            *int64   `group:"Names and splits:" placeholder:"MB" stock:"" help:"End, or with --split begin the next file, when the bag holds this many MB."`
	Duration        Duration `group:"Names and splits:" placeholder:"TIME" stock:"" help:"End, or with --split begin the next file, after this time: seconds, or with unit m or h."`
	SplitAt         Duration `group:"Names and splits:" placeholder:"TIME" help:"Begin a next file at multiples of this time on the local clock: 10m is at 12:00, 12:10 and so on. Switches --split on."`
	RepeatLatched   bool     `group:"Names and splits:" stock:"" help:"Begin each file with the latest message of each latching publisher. This is the default."`
	NoRepeatLatched bool     `group:"Names and splits:" help:"Do not begin files with latched messages."`

	MinSpace  Size     `group:"Space on the disk and old files:" short:"L" default:"1G" placeholder:"SIZE" stock:"" help:"End when less than this is free on the disk: bytes, or with K, M or G (default ${default}, 0 = do not look)."`
	MaxSplits int      `group:"Space on the disk and old files:" placeholder:"N" stock:"" help:"With --split: keep only the newest N closed files of this recording."`
	MaxBytes  Size     `group:"Space on the disk and old files:" placeholder:"SIZE" help:"With --split, --stopped or --start-on: delete the oldest closed files of this recording beyond this size together (such as 20G)."`
	MaxAge    Duration `group:"Space on the disk and old files:" placeholder:"TIME" help:"With --split, --stopped or --start-on: delete files of this recording that were closed longer ago than this."`
	KeepFree  Size     `group:"Space on the disk and old files:" placeholder:"SIZE" help:"With --split, --stopped or --start-on: delete the oldest closed files of this recording while less than this is free on the disk."`
	Pin       Duration `group:"Space on the disk and old files:" default:"5m" placeholder:"TIME" help:"How far back the service ~pin reaches: it protects the bags of that time from --max-splits, --max-bytes, --max-age and --keep-free (default ${default})."`
	Recover   bool     `group:"Space on the disk and old files:" help:"At the start look for X.bag.active that a dead recorder left in the directory, and make X.bag of each, beside the recording. The original becomes X.bag.orig.active. Without this they are only named."`

	BZ2           bool          `group:"Compression, buffers and the disk:" name:"bz2" short:"j" stock:"" help:"Compress with bz2: smallest, slow."`
	LZ4           bool          `group:"Compression, buffers and the disk:" name:"lz4" stock:"" help:"Compress with lz4: fast, the one for robots."`
	Adaptive      bool          `group:"Compression, buffers and the disk:" help:"With --bz2 or --lz4: while compression cannot keep up, step down from bz2 to lz4 to none for the next chunks, and up again later."`
	Chunksize     int           `group:"Compression, buffers and the disk:" default:"768" placeholder:"KB" stock:"" help:"Seal a chunk when it holds more than this many KB (default ${default})."`
	Buffsize      int           `group:"Compression, buffers and the disk:" short:"b" default:"256" placeholder:"MB" stock:"" help:"Hold at most this many MB in memory, and no more than a container or unit may have (default ${default}, 0 = no limit of its own)."`
	Overflow      string        `group:"Compression, buffers and the disk:" default:"drop" placeholder:"drop|block" enum:"drop,block" help:"When the buffer is full: drop = drop new messages of the heaviest topics and count them; block = stop reading from the publishers (default ${default})."`
	FlushInterval time.Duration `group:"Compression, buffers and the disk:" default:"1s" placeholder:"TIME" help:"Hand a chunk that is not full to the disk after this time (default ${default}). A crash of the program loses at most this much."`
	Sync          string        `group:"Compression, buffers and the disk:" default:"interval" placeholder:"none|interval|chunk" enum:"none,interval,chunk" help:"When to wait for the disk: interval = every second or 32 MiB, chunk = after each chunk, none = leave it to the kernel (default ${default}). A power cut loses what was not synced."`

	Snapshot       bool     `group:"Snapshots:" stock:"" help:"Keep the latest messages in memory and write them to a bag only on a trigger: a message on snapshot_trigger (std_msgs/Empty), SIGUSR1, the service ~snapshot, or the key n. No message is in two such bags, but for latched ones."`
	SnapshotBeside bool     `group:"Snapshots:" help:"Record as usual, and take snapshots as with --snapshot."`
	PreRoll        Duration `group:"Snapshots:" placeholder:"TIME" help:"Begin a snapshot this long before its trigger (default: as far back as the memory reaches)."`
	PostRoll       Duration `group:"Snapshots:" placeholder:"TIME" help:"Go on with a snapshot for this long after its trigger; a trigger meanwhile prolongs it (default: end with the trigger)."`
	SnapshotBytes  Size     `group:"Snapshots:" placeholder:"SIZE" help:"Use this much of --buffsize for what came before the trigger (default, and at most, three quarters)."`

	Triggers `embed:""`

	Upload Upload `embed:""`

	Paused   bool `group:"Control and screen:" help:"Begin paused: with a bag that gets nothing until the space key is hit or the service ~resume is called. Latched messages that came before are recorded then."`
	Stopped  bool `group:"Control and screen:" help:"Begin without a bag: the space key or the service ~start begins one, the service ~stop ends it, as often as you like."`
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
	`Exit code: 0 complete, 1 usage or start-up error, 2 internal error, 3 finished but messages were lost: ` +
	`dropped here, missing in a publisher's numbers (header.seq), or perhaps when the link to a publisher was lost without its goodbye.`

// Validate is called by kong and checks what the tags cannot say. The texts are
// stock's where stock has one.
func (r *Record) Validate() error {
	r.Topics, r.TopicOption = append(r.Topics, r.TopicOption...), nil
	r.oldSplit()
	r.Split.On = r.Split.On || r.SplitAt > 0
	if err := errors.Join(r.checkSnapshot(), r.checkTriggers(), r.Upload.check()); err != nil {
		return err
	}
	switch {
	case r.Split.MB < 0 || r.Size != nil && *r.Size <= 0:
		return errorAbout("Split size must be 0 or positive", "split", "size") // stock's text, although 0 is refused by it, too
	case r.Size != nil && *r.Size > 1<<40:
		return errorAbout("Split size must be at most 1099511627776 MB", "size")
	case r.MaxSplits < 0:
		return errorAbout("Number of splits must be 0 or positive", "max-splits") // in line with stock's texts
	case r.RepeatLatched && r.NoRepeatLatched:
		return errors.New("--repeat-latched and --no-repeat-latched exclude each other")
	case !r.Split.On && !r.Stopped && len(r.StartOn) == 0 && (r.MaxBytes != 0 || r.MaxAge != 0 || r.KeepFree != 0):
		return errors.New("--max-bytes, --max-age and --keep-free delete closed files: they need --split, --stopped or --start-on")
	case r.Paused && r.Stopped:
		return errors.New("--paused and --stopped exclude each other")
	case r.Buffsize < 0:
		return errorAbout("Buffer size must be 0 or positive", "buffsize") // stock's text
	case r.Buffsize > 1<<30:
		return errorAbout("Buffer size must be at most 1073741824 MB", "buffsize") // in line with stock's texts
	case r.Chunksize < 0:
		return errorAbout("Chunk size must be 0 or positive", "chunksize") // stock's text
	case r.Chunksize > 1<<20:
		return errorAbout("Chunk size must be at most 1048576 KB (1 GiB)", "chunksize") // in line with the two above
	case r.BZ2 && r.LZ4:
		return errorAbout("Can only use one type of compression", "bz2", "lz4") // stock's text
	case r.Adaptive && !r.BZ2 && !r.LZ4:
		return errors.New("--adaptive steps down from --bz2 or --lz4: give one of them")
	case len(r.Topics) == 0 && !r.All && len(r.Type)+len(r.Node)+len(r.NodePublications)+len(r.Exclude) == 0:
		return errors.New("No topics specified. Name topics, or use -a for all") //nolint:staticcheck // stock's text
	case r.Limit != 0 && len(r.Topics) == 0:
		return errorAbout("Specifying a count is not valid with automatic topic subscription.", "limit") // stock's text
	case r.Limit < 0:
		return errorAbout("Limit must be 0 or positive", "limit") // in line with stock's texts
	case r.OutputName != "" && r.OutputPrefix != "":
		return errorAbout("Can't set both prefix and name.", "output-prefix", "output-name") // stock's text
	case r.NameTemplate != "" && r.OutputName+r.OutputPrefix != "":
		return errorAbout("--name-template stands in place of -o and -O", "name-template", "output-prefix", "output-name")
	case !positive(r.MaxRate) || !positive(r.Every) || !positive(r.Count):
		return errors.New("--max-rate, --every and --count need positive numbers")
	case strings.HasPrefix(r.OutputName, "~/"), strings.HasPrefix(r.OutputPrefix, "~/"), strings.HasPrefix(r.NameTemplate, "~/"):
		return errorAbout("only a shell knows what ~ is, and only at the start of a word: write the directory in full", "output-name", "output-prefix", "name-template")
	case r.SplitAt != 0 && time.Duration(r.SplitAt) < time.Second:
		return errors.New("--split-at must be at least 1s")
	case r.FlushInterval < time.Millisecond:
		return errors.New("--flush-interval must be at least 1ms")
	}
	return nil
}

// oldSplit reads "--split 1024 /topic", as rosbag's wrapper does: a word of digits
// is no topic's name, nor an expression that matches one.
func (r *Record) oldSplit() {
	if !r.Split.On || r.Split.MB != 0 {
		return
	}
	for i, word := range r.Topics {
		if n, err := strconv.ParseInt(word, 10, 40); err == nil {
			r.Split.MB = n
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
	return r.Split.MB << 20
}

// RecordFor returns --duration; zero means until the end.
func (r *Record) RecordFor() time.Duration { return time.Duration(r.Duration) }

// positive reports whether all values are.
func positive[N int | float64](m map[string]N) bool {
	for topic, n := range m {
		if good := topic != "" && n > 0; !good { // NaN is not good either
			return false
		}
	}
	return true
}
