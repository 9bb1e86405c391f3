package recorder

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
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
	topics, unread := s.in.SummaryFigures(time.Now())
	sum := Summary{Topics: topicSummaries(topics), Unread: unread}
	if s.report == ReportOnLoss && sum.Losses() == "" {
		return nil
	}
	conn := s.in.OpenReport(ReportTopic, intake.OwnType{Name: tcpros.DiagnosticArrayType, MD5Sum: tcpros.DiagnosticArrayMD5Sum, Definition: tcpros.DiagnosticArrayDefinition})
	at := s.newest // as the last message, so that the bag does not seem to be longer
	if at.IsZero() {
		at = bagfmt.TimeOf(s.in.Sim.At(time.Now()))
	}
	frame := sum.diagnostics(at.Std()).AppendFrame(nil)
	if err := s.writeOwn(conn, at, frame); err != nil {
		s.log.Warn("the account of losses is not in the bag", zap.String("file", s.out.Target()), zap.Error(err))
	}
	return nil
}

// writeOwn writes one message as a chunk.
func (s *sink) writeOwn(c *bagfmt.Connection, at bagfmt.Time, frame []byte) error {
	z, err := bagfmt.NewCompressor(s.compression)
	if err != nil {
		return err
	}
	chunk := new(memory.Chunk)
	chunk.Builder.Reset(nil)
	chunk.Builder.AppendRun(c, at, frame, 1)
	if chunk.Sealed, err = chunk.Builder.Seal(z, nil); err != nil {
		return err
	}
	if err := s.out.WriteChunk(chunk.Sealed); err != nil {
		return err
	}
	chunk.Part = s.in.OwnWritten(c, len(frame)-4)
	s.written(chunk)
	return nil
}
