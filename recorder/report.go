package recorder

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Report says when the account of a recording is written at the end of its last bag,
// as a latched diagnostic_msgs/DiagnosticArray on ReportTopic.
type Report int

// The zero value reports losses.
const (
	ReportOnLoss Report = iota
	ReportAlways
	ReportNever
)

// ReportTopic is where the account stands in the bag.
const ReportTopic = "/gorecord/summary"

// diagnostics is the account in the words of the graph: one status of the recording,
// and one of each topic that has lost something.
func (s *Summary) diagnostics(at time.Time) *tcpros.DiagnosticArray {
	whole := tcpros.DiagnosticStatus{
		Name: "gorecord", Message: "complete", Level: level(s.Dropped(), s.Losses() != ""),
		Values: []tcpros.DiagnosticValue{
			number("messages", s.Messages()), number("lost", s.Dropped()), number("missed", s.Missed()), number("links_lost", uint64(s.LinksLost())),
		},
	}
	if losses := s.Losses(); losses != "" {
		whole.Message = losses
	}
	d := &tcpros.DiagnosticArray{Stamp: at, Status: []tcpros.DiagnosticStatus{whole}}
	for i := range s.Topics {
		one := Summary{Topics: s.Topics[i : i+1]}
		if losses := one.Losses(); losses != "" {
			d.Status = append(d.Status, tcpros.DiagnosticStatus{
				Name: "gorecord: " + s.Topics[i].Topic, Message: losses, Level: level(one.Dropped(), true), Values: s.Topics[i].losses(),
			})
		}
	}
	return d
}

// losses lists what is missing of one topic, and why.
func (t *TopicSummary) losses() []tcpros.DiagnosticValue {
	values := []tcpros.DiagnosticValue{number("messages", t.Messages)}
	for _, cause := range slices.Sorted(maps.Keys(t.Dropped)) {
		values = append(values, number("lost: "+cause, t.Dropped[cause]))
	}
	for _, p := range t.Publishers {
		if p.Missed > 0 {
			values = append(values, number("missed from "+p.CallerID, p.Missed))
		}
		if p.LinksLost > 0 {
			values = append(values,
				number("links_lost to "+p.CallerID, uint64(p.LinksLost)),
				tcpros.DiagnosticValue{Key: "seconds without " + p.CallerID, Value: fmt.Sprintf("%.1f", p.Without.Seconds())})
		}
	}
	return values
}

func number(key string, n uint64) tcpros.DiagnosticValue {
	return tcpros.DiagnosticValue{Key: key, Value: strconv.FormatUint(n, 10)}
}

// level tells what was lost here from what others lost.
func level(dropped uint64, lossy bool) tcpros.DiagnosticLevel {
	switch {
	case dropped > 0:
		return tcpros.DiagnosticError
	case lossy:
		return tcpros.DiagnosticWarn
	}
	return tcpros.DiagnosticOK
}

// writeReport writes the account at the end of a file: all that was queued is in the
// file, or counted as lost. A file that met a fault gets none: it needs
// the room for its index.
func (s *sink) writeReport() error {
	if s.report == ReportNever || s.out == nil {
		return nil
	}
	if s.err != nil {
		return s.err
	}
	sum, conn := s.in.lossReport(s.report)
	if conn == nil {
		return nil
	}
	at := s.newest // as the last message, so that the bag does not seem to be longer
	if at.IsZero() {
		at = bagfmt.TimeOf(s.in.sim.At(time.Now()))
	}
	frame := sum.diagnostics(at.Std()).AppendFrame(nil)
	if err := s.writeOwn(conn, at, frame); err != nil {
		s.log.Warn("the account of losses is not in the bag", zap.String("file", s.out.Target()), zap.Error(err))
	}
	return nil
}

// writeOwn writes one message as a chunk.
func (s *sink) writeOwn(c *connection, at bagfmt.Time, frame []byte) error {
	z, err := bagfmt.NewCompressor(s.compression)
	if err != nil {
		return err
	}
	chunk := new(memory.Chunk)
	chunk.Builder.Reset(nil)
	chunk.Builder.AppendRun(c.conn, at, frame, 1)
	if chunk.Sealed, err = chunk.Builder.Seal(z, nil); err != nil {
		return err
	}
	if err := s.out.WriteChunk(chunk.Sealed); err != nil {
		return err
	}
	chunk.Part = s.in.countOwn(c, len(frame)-4)
	s.written(chunk)
	return nil
}

// lossReport returns the account and the connection that it is written to; nil if when
// asks for none.
func (in *intake) lossReport(when Report) (Summary, *connection) {
	in.mu.Lock()
	defer in.mu.Unlock()
	s := Summary{Topics: in.accounts(time.Now()), Unread: in.unread.ever}
	if when == ReportOnLoss && s.Losses() == "" {
		return s, nil
	}
	if in.reported == nil {
		in.reported = in.openOwn(ownHeader(in.node, ReportTopic, tcpros.DiagnosticArrayType, tcpros.DiagnosticArrayMD5Sum, tcpros.DiagnosticArrayDefinition, true))
	}
	return s, in.reported.connection
}

// countOwn counts a message of the recorder's own that is in the file, and returns the
// number of that.
func (in *intake) countOwn(c *connection, bytes int) (part int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.account(c.topic, 1, uint64(bytes))
	return in.rotation.Part()
}

// openLatched makes a link on which the recorder itself publishes, latched.
func (in *intake) openLatched(name, typ, md5sum, definition string) *link {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.openOwn(ownHeader(in.node, name, typ, md5sum, definition, true))
}

// openOwn makes a link on which the recorder itself publishes, beside others on the topic if
// that is recorded, too. mu is held.
func (in *intake) openOwn(h tcpros.Header) *link {
	name, _ := h.Get("topic")
	t := topicNamed(in.topics, name)
	if t == nil {
		t = &topic{name: name}
		in.topics = append(in.topics, t)
	}
	if !slices.Contains(in.ownTopics, t) {
		in.ownTopics = append(in.ownTopics, t)
	}
	return in.connect(t, t.find(bagfmt.ConnectionHeader(h)), tcpros.LinkInfo{Topic: name, PublisherURI: in.node, Header: h})
}

// ownHeader is the connection header of what the recorder, a node of that name, publishes.
func ownHeader(node, name, typ, md5sum, definition string, latching bool) tcpros.Header {
	h := tcpros.Header{{Key: "callerid", Value: node}}
	if latching {
		h = append(h, tcpros.Header{{Key: "latching", Value: "1"}}...)
	}
	return append(h, tcpros.Header{
		{Key: "md5sum", Value: md5sum},
		{Key: "message_definition", Value: definition},
		{Key: "topic", Value: name},
		{Key: "type", Value: typ},
	}...)
}
