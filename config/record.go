package config

import (
	"errors"
	"time"

	"github.com/alecthomas/kong"
)

// Record holds the options of gorecord. The tags are the single source of flags,
// environment variables, defaults and help.
type Record struct {
	Topics []string `arg:"" optional:"" name:"topic" help:"Topics to record. With -e these are regular expressions that must match the whole topic name."`

	All     bool     `short:"a" env:"GORECORD_ALL" help:"Record all topics, also those that appear later."`
	Regex   bool     `short:"e" env:"GORECORD_REGEX" help:"Read the topics as regular expressions (RE2 syntax, matching the whole name)."`
	Exclude []string `short:"x" sep:"none" placeholder:"REGEX" env:"GORECORD_EXCLUDE" help:"Leave out topics whose whole name matches. May be given several times. Does not apply to topics named in full."`
	Node    string   `placeholder:"NODE" env:"GORECORD_NODE" help:"Record all topics that this node subscribes to."`

	OutputPrefix string `short:"o" placeholder:"PREFIX" env:"GORECORD_OUTPUT_PREFIX" help:"Name the bag PREFIX_<date>.bag."`
	OutputName   string `short:"O" placeholder:"NAME" env:"GORECORD_OUTPUT_NAME" help:"Name the bag NAME.bag."`
	Quiet        bool   `short:"q" env:"GORECORD_QUIET" help:"Print warnings and errors only."`

	BZ2       bool `name:"bz2" short:"j" env:"GORECORD_BZ2" help:"Compress with bz2: smallest, slow."`
	LZ4       bool `name:"lz4" env:"GORECORD_LZ4" help:"Compress with lz4: fast, the one for robots."`
	Chunksize int  `default:"768" placeholder:"KB" env:"GORECORD_CHUNKSIZE" help:"Seal a chunk when it holds more than this many KB (default ${default})."`
	Buffsize  int  `short:"b" default:"256" placeholder:"MB" env:"GORECORD_BUFFSIZE" help:"Hold at most this many MB in memory (default ${default}, 0 = no limit)."`

	Overflow      string        `default:"drop" enum:"drop,block" env:"GORECORD_OVERFLOW" help:"When the buffer is full: drop = drop new messages and count them; block = stop reading from the publishers (default ${default})."`
	FlushInterval time.Duration `default:"1s" placeholder:"TIME" env:"GORECORD_FLUSH_INTERVAL" help:"Hand a chunk that is not full to the disk after this time (default ${default}). A crash of the program loses at most this much."`
	Sync          string        `default:"interval" enum:"none,interval,chunk" env:"GORECORD_SYNC" help:"When to wait for the disk: interval = every second or 32 MiB, chunk = after each chunk, none = leave it to the kernel (default ${default}). A power cut loses what was not synced."`

	Limit      int      `short:"l" placeholder:"N" env:"GORECORD_LIMIT" help:"Record only N messages on each topic, then end."`
	Duration   Duration `placeholder:"TIME" env:"GORECORD_DURATION" help:"End after this time: seconds, or with unit m or h."`
	TCPNoDelay bool     `name:"tcpnodelay" env:"GORECORD_TCPNODELAY" help:"Ask the publishers for TCP_NODELAY."`

	EmbeddedMaster Address          `placeholder:"HOST:PORT" env:"GORECORD_EMBEDDED_MASTER" help:"Run a ROS master inside this program (default address ${master})."`
	Version        kong.VersionFlag `help:"Print the version and exit."`
}

// RecordHelp introduces gorecord --help.
const RecordHelp = `Record ROS topics to a bag file (format V2.0).

ROS arguments work as in every node: __name:=, __ns:=, __master:=, __ip:=, __hostname:= and /from:=/to. ` +
	`Exit code: 0 complete, 1 usage or start-up error, 2 internal error, 3 finished but messages were lost.`

// Validate is called by kong and checks what the tags cannot say. The texts are
// stock's where stock has one.
func (r *Record) Validate() error {
	switch {
	case r.Buffsize < 0:
		return errors.New("Buffer size must be 0 or positive") //nolint:staticcheck // stock's text
	case r.Buffsize > 1<<30:
		return errors.New("Buffer size must be at most 1073741824 MB") //nolint:staticcheck // in line with stock's texts
	case r.Chunksize < 0:
		return errors.New("Chunk size must be 0 or positive") //nolint:staticcheck // stock's text
	case r.Chunksize > 1<<20:
		return errors.New("Chunk size must be at most 1048576 KB (1 GiB)") //nolint:staticcheck // in line with the two above
	case r.BZ2 && r.LZ4:
		return errors.New("Can only use one type of compression") //nolint:staticcheck // stock's text
	case len(r.Topics) == 0 && !r.All && r.Node == "" && len(r.Exclude) == 0:
		return errors.New("No topics specified. Name topics, or use -a for all") //nolint:staticcheck // stock's text
	case r.Limit != 0 && len(r.Topics) == 0:
		return errors.New("Specifying a count is not valid with automatic topic subscription.") //nolint:staticcheck,revive // stock's text
	case r.Limit < 0:
		return errors.New("Limit must be 0 or positive") //nolint:staticcheck // in line with stock's texts
	case r.OutputName != "" && r.OutputPrefix != "":
		return errors.New("Can't set both prefix and name.") //nolint:staticcheck,revive // stock's text
	case r.FlushInterval < time.Millisecond:
		return errors.New("--flush-interval must be at least 1ms")
	}
	return nil
}

// RecordFor returns --duration; zero means until the end.
func (r *Record) RecordFor() time.Duration { return time.Duration(r.Duration) }
