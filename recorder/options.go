package recorder

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/graph"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Defaults of Options. Sizes and the buffer are those of stock rosbag record.
const (
	DefaultBufferBytes   = 256 << 20
	DefaultFlushInterval = time.Second
	DefaultPollInterval  = 200 * time.Millisecond

	// Unlimited as BufferBytes sets no limit.
	Unlimited = -1
)

// Overflow says what happens when the buffer is full.
type Overflow int

// The zero value drops: a slow disk must not hold up the topics of a robot.
const (
	// drop the newest messages of the heaviest topics and count them.
	OverflowDrop Overflow = iota
	// stop reading the sockets until there is room; one message may take half of BufferBytes.
	OverflowBlock
)

// Options says what to record, where to and how. The zero value of each field but
// Node, Output and Select is its default.
type Options struct {
	Node   *tcpros.Node
	Log    *zap.Logger // nil logs nothing
	Select Selection
	Output Output

	// empty means none
	Compression rosbag.Compression
	// compress less, from bz2 to lz4 to none, while compression cannot keep up
	Adaptive bool
	// seal a chunk that is larger than this; zero means 768 KiB
	ChunkBytes int
	// bound of all buffers together; zero means 256 MiB, Unlimited no bound. MemoryBytes says how small
	// it can be
	BufferBytes int64
	Overflow    Overflow

	// seal a chunk that is not full at this age; zero means 1 s
	FlushInterval time.Duration
	// ask the master for new topics this often, and less often in a large graph; zero means 200 ms
	PollInterval time.Duration
	Sync         Sync

	// end after this many messages on each topic; zero means none
	Limit int
	// how much of single topics is recorded
	Limits []Limit
	// end, or with Split begin the next file, after this time since the (last) start; zero means never
	Duration time.Duration
	// end, or with Split begin the next file, at this size of the file; zero means no limit
	MaxBytes int64

	// Split puts numbers into the names of files, and goes on in the next file where the
	// recording would end. Each file begins with the latest message of each latching
	// publisher, unless NoRepeatLatched says otherwise.
	Split           bool
	SplitAt         time.Duration // with Split also at multiples of this on the local clock; zero means never
	NoRepeatLatched bool
	Retain          Retention // which of the recorded files are deleted

	// Recover makes complete bags of files that crashed recorders left in the directory, while the
	// recording goes on. Otherwise the files are only logged.
	Recover bool

	Snapshot Snapshot // whether snapshots are taken, and what they hold

	MinSpace     int64  // end when fewer bytes are free on the disk; zero means never
	MinSpaceText string // how the user wrote it, for messages

	TCPNoDelay bool // ask the publishers for TCP_NODELAY
	UDP        bool // receive over UDPROS from publishers that have it

	// Hurry, when closed, makes a Run that is ending drop and count the messages in the
	// queue, and close the bag at once.
	Hurry <-chan struct{}

	Notes  []Note // begin each file, latched, as std_msgs/String on /metadata
	Params bool   // store the parameters and the node graph as they are at the start, latched
	Report Report // when the account of what was lost is written into the bag, which then has one more topic

	Publish bool // publish the name of each new file on begin_write

	CountTopics bool // log how many topics are subscribed to, and their names at debug level only

	Expect []Expectation // the rates that topics should have; names are as the user wrote them

	Control *Control      // steers and watches the recording; nil for none
	Begin   control.State // the state before the first command of Control

	Handover Handover        // takes the finished files; nil for none
	Watch    control.Watcher // looks at messages of some topics; nil for none
	Tap      *Tap            // shows the messages to live viewers; nil for none

	onOpen  func(target string)               // called with the name of each new file
	resolve func(name string) (string, error) // resolves names; nil means that Node does
	sim     *simtime.Sim                      // nil stands for the wall clock
	survey  time.Duration                     // graph.Graph.Survey; zero means graph.SurveyTimeout
}

// withDefaults checks the options and completes them. Check and Run return its errors before they create
// a file.
func (o Options) withDefaults() (Options, error) {
	if o.resolve == nil {
		if o.Node == nil {
			return o, errors.New("recorder.Options.Node is missing: make one with tcpros.NewNode")
		}
		o.resolve = o.Node.Resolve
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	o.Log = loglimit.Logger(o.Log)
	o.Compression = cmp.Or(o.Compression, rosbag.CompressionNone)
	o.ChunkBytes = cmp.Or(o.ChunkBytes, chunk.DefaultBytes)
	o.BufferBytes = cmp.Or(o.BufferBytes, DefaultBufferBytes)
	o.FlushInterval = cmp.Or(o.FlushInterval, DefaultFlushInterval)
	o.PollInterval = cmp.Or(o.PollInterval, DefaultPollInterval)
	o.survey = cmp.Or(o.survey, graph.SurveyTimeout)
	for _, n := range []struct {
		field string
		value int64
	}{
		{"ChunkBytes", int64(o.ChunkBytes)},
		{"PollInterval", int64(o.PollInterval)},
		{"Limit", int64(o.Limit)},
		{"Duration", int64(o.Duration)},
		{"MaxBytes", o.MaxBytes},
		{"SplitAt", int64(o.SplitAt)},
	} {
		if n.value < 0 {
			return o, fmt.Errorf("recorder.Options.%s is negative", n.field)
		}
	}
	if o.FlushInterval < time.Millisecond {
		return o, fmt.Errorf("recorder.Options.FlushInterval is %v, less than 1 ms", o.FlushInterval)
	}
	if err := note.Check(o.Notes); err != nil {
		return o, err
	}
	if err := o.Output.Check(); err != nil {
		return o, fmt.Errorf("name template %q: %w", o.Output.Template, err)
	}
	namespace := "/"
	if slices.ContainsFunc(o.Select.Topics,
		func(t string) bool { return !strings.HasPrefix(t, "/") && strings.ContainsAny(t, "*?[") }) {
		var err error
		if namespace, err = o.namespace(); err != nil {
			return o, err
		}
	}
	var err error
	if o.Snapshot, err = o.Snapshot.withDefaults(&o, o.MemoryBytes()); err != nil {
		return o, err
	}
	if err := o.Select.compile(namespace); err != nil {
		return o, err
	}
	return o, o.checkNames()
}

// namespace returns where relative globs look, with a slash at its end.
func (o *Options) namespace() (string, error) {
	name, err := o.resolve("x")
	return strings.TrimSuffix(name, "x"), err
}

// checkNames resolves names, and returns an error for invalid names and limits.
func (o *Options) checkNames() error {
	for _, l := range o.Limits {
		if err := l.Check(); err != nil {
			return err
		}
	}
	for _, name := range o.Select.literal {
		resolved, err := o.resolve(string(name))
		if err != nil {
			return err
		}
		o.Select.resolved = append(o.Select.resolved, topicname.InGraph(resolved))
	}
	for _, node := range slices.Concat(o.Select.Nodes, o.Select.NodePublications) {
		if _, err := o.resolve(node); err != nil {
			return err
		}
	}
	if err := o.resolveExpected(); err != nil {
		return err
	}
	return o.checkWatched()
}

// resolveExpected gives expected topics the names that they have in the bag. A glob is about names in the
// graph, as in the selection: it gets, too, the names in the bag of the topics that the user has named in
// another way.
func (o *Options) resolveExpected() error {
	all := make([]finding.Expectation, len(o.Expect))
	for i, e := range o.Expect {
		var err error
		if topicmatch.IsGlob(e.Topics) {
			all[i], err = o.expectedGlob(e)
		} else {
			all[i], err = o.expectedTopic(e)
		}
		if err != nil {
			return err
		}
	}
	o.Expect = all
	return nil
}

// expectedTopic gives the expectation of a topic the name that the topic has in the bag.
func (o *Options) expectedTopic(e Expectation) (Expectation, error) {
	name, err := o.resolve(e.Topics)
	if err != nil {
		return e, err
	}
	at := slices.Index(o.Select.resolved, topicname.InGraph(name))
	switch {
	case at >= 0:
		name = string(o.Select.literal[at])
	case !o.Select.maySelect(topicname.InGraph(name)):
		return e, fmt.Errorf("%w: %s", ErrExpectedNotSelected, name)
	}
	return finding.NewExpectation(name, e.Range), nil
}

// expectedGlob resolves an expectation of all topics that a glob matches.
func (o *Options) expectedGlob(e Expectation) (Expectation, error) {
	glob := e.Topics
	// ** is the slash at the beginning, too
	if !strings.HasPrefix(glob, "/") && !strings.HasPrefix(glob, "**") {
		namespace, err := o.namespace()
		if err != nil {
			return e, err
		}
		glob = namespace + glob
	}
	var inBag []string
	pattern := topicmatch.Glob(glob)
	for i, resolved := range o.Select.resolved {
		if pattern.Match(string(resolved)) {
			inBag = append(inBag, string(o.Select.literal[i]))
		}
	}
	return finding.NewExpectation(glob, e.Range, inBag...), nil
}

// ErrExpectedNotSelected means that a topic of Options.Expect is certainly not recorded, so that nothing
// is known of it.
var ErrExpectedNotSelected = errors.New("a topic of which a rate is expected is not recorded: record it, too, or expect nothing of it")

// ErrNotSelected means that a topic of Options.Watch is not recorded.
var ErrNotSelected = errors.New("a topic that a trigger watches is not recorded")

// checkWatched returns an error for a topic of Options.Watch that is certainly not recorded.
func (o *Options) checkWatched() error {
	if o.Watch == nil {
		return nil
	}
	for _, topic := range o.Watch.Topics() {
		if !o.names(topic) && !o.Select.maySelect(topic) {
			return fmt.Errorf("%w: %s", ErrNotSelected, topic)
		}
	}
	return nil
}

// MemoryBytes returns the bound of all buffers together; negative means none. It is BufferBytes, but at least
// enough for four chunks, and with compression for two chunks and one for each compressor.
func (o Options) MemoryBytes() int64 {
	if o.BufferBytes < 0 {
		return -1
	}
	chunkBytes := int64(cmp.Or(o.ChunkBytes, chunk.DefaultBytes))
	least := memory.LeastChunks * chunkBytes
	if n := int64(workers(o.Compression)); n > 0 {
		least = 2 * max(memory.LeastChunks, 2+n) * chunkBytes // each chunk and what it is compressed into
	}
	return max(cmp.Or(o.BufferBytes, DefaultBufferBytes), least)
}

// workers is the number of compression goroutines.
func workers(c rosbag.Compression) int {
	if c == rosbag.CompressionNone || c == "" {
		return 0 // sealing is only a checksum, which the sink makes
	}
	return runtime.GOMAXPROCS(0)
}

// names reports whether the user has named a topic in full.
func (o *Options) names(topic topicname.InGraph) bool {
	return slices.Contains(o.Select.resolved, topic)
}
