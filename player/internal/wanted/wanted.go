// Package wanted deals with subscribers that want other definitions than those of the bags: it says which
// case it is and what helps, and makes what they want of the messages.
//
// A Desk has a lock of its own. It is asked by the goroutines that accept subscribers, once for each
// subscriber; conversions are called by whoever publishes.
package wanted

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/migration"
	"github.com/gorosbag/gorosbag/internal/ros/mismatch"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// maxVersions bounds the versions of a topic that are remembered: subscribers may make up any number.
const maxVersions = 32

// Desk knows which definitions subscribers want. A nil Desk leaves all to the rules of ROS.
type Desk struct {
	convert bool
	log     *zap.Logger
	names   map[string][]string // names of topics by their type

	mu     sync.Mutex
	known  mismatch.Known // guarded by mu
	topics map[*plan.Topic]*topic
}

// topic is what is known of the subscribers of a topic.
type topic struct {
	versions map[mismatch.Definition]*version
	failed   *atomic.Uint64 // messages that could not be converted
}

// version is one definition that subscribers want.
type version struct {
	adapted *tcpros.Adapted // nil if they get what is published, or are refused
	why     string          // they are refused; empty if they are not
	warning string          // they are not refused, but should know; empty for nothing
	told    bool
}

// Options says what a Desk does.
type Options struct {
	Convert bool           // make what subscribers want of the messages
	Known   mismatch.Known // of definitions that neither bags nor subscribers have; nil knows none
	Log     *zap.Logger
}

// New returns a desk for the topics of a plan.
func New(o Options, p *plan.Plan) *Desk {
	d := &Desk{
		convert: o.Convert, known: o.Known, log: o.Log, names: make(map[string][]string),
		topics: make(map[*plan.Topic]*topic),
	}
	for _, t := range p.Topics {
		d.names[t.Type] = append(d.names[t.Type], string(t.Name))
		d.topics[t] = &topic{versions: make(map[mismatch.Definition]*version), failed: new(atomic.Uint64)}
	}
	return d
}

// Unconverted returns how many messages of a topic could not be converted, over all versions.
func (d *Desk) Unconverted(t *plan.Topic) uint64 {
	if d == nil {
		return 0
	}
	return d.topics[t].failed.Load()
}

// Unfit returns what a publication asks about subscribers, see tcpros.AdvertiseOptions.
func (d *Desk) Unfit(t *plan.Topic) func(asked tcpros.Header) (*tcpros.Adapted, string) {
	if d == nil || t.MD5Sum == tcpros.AnyMD5 { // the bag says nothing that could differ
		return nil
	}
	return func(asked tcpros.Header) (*tcpros.Adapted, string) {
		want, caller := wantOf(asked)
		return d.ask(t, want, caller)
	}
}

// Judge returns what would become of a subscriber, and why, without a word in the log. Both are empty for
// a subscriber that gets what was recorded, and reads it rightly.
func (d *Desk) Judge(t *plan.Topic, asked tcpros.Header) (fate, why string) {
	want, _ := wantOf(asked)
	if t.MD5Sum == tcpros.AnyMD5 || want.MD5Sum == tcpros.AnyMD5 {
		return "", ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch v := d.decide(t, want); {
	case v.adapted != nil:
		return "would get converted messages", v.why
	case v.warning != "":
		return "would read wrong values", v.warning
	case v.why != "":
		return "would be refused", v.why
	}
	return "", ""
}

// wantOf returns what a subscriber wants, and its name.
func wantOf(asked tcpros.Header) (want mismatch.Definition, caller string) {
	want.Type, _ = asked.Get("type")
	want.MD5Sum, _ = asked.Get("md5sum")
	want.MD5Sum = strings.ToLower(want.MD5Sum)
	want.Text, _ = asked.Get("message_definition")
	caller, _ = asked.Get("callerid")
	return want, caller
}

// ask decides about a subscriber.
func (d *Desk) ask(t *plan.Topic, want mismatch.Definition, caller string) (*tcpros.Adapted, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.topics[t].versions
	v := all[want]
	if v == nil {
		if len(all) >= maxVersions {
			return nil, fmt.Sprintf("subscribers want more than %d versions of %s", maxVersions, t.Type)
		}
		v = d.decide(t, want)
		all[want] = v
	}
	subscriber := []zap.Field{
		zap.String("topic", string(t.Name)),
		zap.String("subscriber", wording.EscapeLine(caller)),
	}
	switch {
	case v.warning != "":
		d.log.Warn("a subscriber reads messages in another way than they were recorded: "+v.warning,
			append(subscriber, loglimit.Each())...)
	case v.adapted != nil && !v.told:
		v.told = true
		d.log.Info("messages are converted for subscribers: "+v.why, append(subscriber, loglimit.Each())...)
	}
	if v.adapted != nil {
		return v.adapted, ""
	}
	return nil, v.why
}

// decide decides about a version.
func (d *Desk) decide(t *plan.Topic, want mismatch.Definition) *version {
	have := mismatch.Definition{Type: t.Type, MD5Sum: t.MD5Sum, Text: t.Definition}
	e := mismatch.Explain(have, want, d.known, nil)
	sameSum := strings.EqualFold(want.MD5Sum, t.MD5Sum)
	possible := e.Plan != nil && len(e.Plan.Refused()) == 0 && e.Case != mismatch.Fits
	switch {
	case e.Case == mismatch.Fits, sameSum &&
		(e.Case == mismatch.MovedType || e.Plan == nil || e.Plan.SameBytes()):
		return &version{} // ROS lets them connect, and the bytes are the same as far as is known
	case possible && d.convert:
		if e.To.Text == "" {
			e.To.Text = want.Text
		}
		return &version{adapted: d.adapted(t, want, e), why: e.Text}
	case sameSum:
		return &version{warning: e.Text + advice(e, possible)}
	case e.Case == mismatch.OtherType:
		return &version{why: e.Text + d.others(want.Type)}
	}
	return &version{why: e.Text + advice(e, possible)}
}

// advice says what helps.
func advice(e mismatch.Explanation, possible bool) string {
	switch {
	case possible:
		return "; goplay --to-wanted converts while playing, gobag fix IN OUT --to DEFS makes a converted copy"
	case e.Case == mismatch.UnknownText:
		return "; --definitions DIR, a folder with its .msg files, lets goplay --to-wanted convert"
	case e.Case == mismatch.NoText:
		return "; gobag fix IN OUT --to DEFS repairs it where the right definition is known"
	case e.Plan != nil:
		return "; that needs decisions: gobag fix IN OUT --to DEFS with " + cmp.Or(e.Plan.Needs(),
			"what its --dry-run says")
	}
	return ""
}

// others names topics of the bags that have a type.
func (d *Desk) others(typ string) string {
	names := slices.Sorted(slices.Values(d.names[typ]))
	if len(names) == 0 {
		return "; no topic that is played has that type"
	}
	const most = 3
	more := ""
	if n := len(names) - most; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return "; of that type is " + strings.Join(names[:min(most, len(names))], ", ") + more +
		": play it with --rename, or remap the subscriber"
}

// adapted makes what the subscribers of a version get.
func (d *Desk) adapted(t *plan.Topic, want mismatch.Definition, e mismatch.Explanation) *tcpros.Adapted {
	c := &conversion{
		convert: e.Plan.Converter(), topic: t, version: want.MD5Sum, failed: d.topics[t].failed,
		log: d.log,
	}
	return &tcpros.Adapted{
		Type: cmp.Or(want.Type, e.To.Type), MD5Sum: want.MD5Sum,
		MessageDefinition: e.To.Text, Frame: c.frame,
	}
}

// conversion makes the frames of one version. Several nodes may publish a topic, each with a lock of its own.
type conversion struct {
	topic   *plan.Topic
	version string
	failed  *atomic.Uint64
	log     *zap.Logger

	mu      sync.Mutex
	convert *migration.Converter
	size    int // of the last frame
	told    bool
}

// frame returns a converted frame, or nil if a message cannot be converted.
func (c *conversion) frame(frame []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]byte, stdmsg.FramePrefix, max(c.size, stdmsg.FramePrefix))
	out, err := c.convert.Append(out, frame[stdmsg.FramePrefix:], rosbag.Time{})
	if err != nil {
		c.failed.Add(1)
		if !c.told {
			c.told = true
			c.log.Warn("a message cannot be converted: subscribers that want another version do not get it",
				loglimit.Each(),
				zap.String("topic", string(c.topic.Name)), zap.String("md5sum", c.version), zap.Error(err))
		}
		return nil
	}
	c.size = len(out)
	n := len(out) - stdmsg.FramePrefix
	out[0], out[1], out[2], out[3] = byte(n), byte(n>>8), byte(n>>16), byte(n>>24)
	return out
}
