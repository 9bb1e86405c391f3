package rosctl

import (
	"fmt"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/tcpros"
)

// recordReport converts control.Stats to status messages.
type recordReport struct {
	name string
	seq  uint32

	base control.Stats // the base of the rates
	hz   []float64     // of each topic, over the second before
}

// status returns a frame with a diagnostic_msgs/DiagnosticArray: the recording, then
// its topics. err is the reason why there are no stats.
func (r *recordReport) status(stats control.Stats, err error) []byte {
	d := tcpros.DiagnosticArray{Seq: r.seq, Stamp: stats.Taken}
	r.seq++
	if err != nil {
		d.Stamp = time.Now()
		d.Status = []tcpros.DiagnosticStatus{{Level: tcpros.DiagnosticStale, Name: r.name + ": recording", Message: "not recording"}}
		return d.AppendFrame(nil)
	}
	r.rate(&stats)
	d.Status = append(d.Status, r.recording(&stats))
	for i := range stats.Topics {
		hz := 0.0
		if i < len(r.hz) {
			hz = r.hz[i]
		}
		d.Status = append(d.Status, r.topic(&stats, &stats.Topics[i], hz))
	}
	return d.AppendFrame(nil)
}

// rate returns messages per second over about the last second. Topics are never removed.
func (r *recordReport) rate(stats *control.Stats) {
	passed := stats.Taken.Sub(r.base.Taken)
	if passed < statusEvery*9/10 {
		return
	}
	r.hz = r.hz[:0]
	for i := range r.base.Topics {
		r.hz = append(r.hz, float64(arrived(&stats.Topics[i])-arrived(&r.base.Topics[i]))/passed.Seconds())
	}
	r.base = *stats
}

// arrived returns the number of messages that the publishers of a topic have sent, including
// those that were not recorded.
func arrived(t *control.TopicStats) uint64 { return t.Messages + t.Dropped + t.Passed }

func (r *recordReport) recording(s *control.Stats) tcpros.DiagnosticStatus {
	message := s.State.String()
	switch {
	case s.File != "":
		message += ": " + s.File
	case s.Snapshots.Mode == control.SnapshotOnly:
		message += " for snapshots"
	}
	d := tcpros.DiagnosticStatus{Name: r.name + ": recording", Message: message, Values: []tcpros.DiagnosticValue{
		{Key: "state", Value: s.State.String()},
		{Key: "file", Value: s.File},
		{Key: "part", Value: strconv.Itoa(s.Part)},
		{Key: "file bytes", Value: strconv.FormatInt(s.FileBytes, 10)},
		{Key: "bytes", Value: strconv.FormatInt(s.Bytes, 10)},
		{Key: "seconds", Value: seconds(s.Elapsed)},
		{Key: "buffer bytes", Value: strconv.FormatInt(s.Buffered, 10)},
		{Key: "buffer limit", Value: known(s.BufferMost, "none")},
	}}
	var dropped, missed uint64
	for i := range s.Topics {
		dropped += s.Topics[i].Dropped
		missed += s.Topics[i].Missed
	}
	d.Values = append(d.Values,
		tcpros.DiagnosticValue{Key: "disk free bytes", Value: known(s.DiskFree, "unknown")},
		tcpros.DiagnosticValue{Key: "seconds until the disk is full", Value: known(int64(s.TimeLeft/time.Second), "unknown")},
		tcpros.DiagnosticValue{Key: "dropped", Value: strconv.FormatUint(dropped, 10)},
		tcpros.DiagnosticValue{Key: "missed", Value: strconv.FormatUint(missed, 10)})
	if s.Snapshots.Mode != control.SnapshotOff {
		d.Values = append(d.Values,
			tcpros.DiagnosticValue{Key: "snapshots", Value: strconv.Itoa(s.Snapshots.Taken)},
			tcpros.DiagnosticValue{Key: "snapshot file", Value: s.Snapshots.File},
			tcpros.DiagnosticValue{Key: "seconds before a snapshot", Value: seconds(s.Snapshots.Held)})
	}
	if s.Handover != nil {
		uploads(&d, s.Handover)
	}
	if dropped+missed > 0 {
		d.Level = tcpros.DiagnosticWarn
		d.Message += lost(dropped, missed)
	}
	if s.Unread != "" {
		d.Level = tcpros.DiagnosticWarn
		d.Message += "; replies of the master cannot be read in full: " + s.Unread
	}
	if s.TimeLeft >= 0 && s.TimeLeft < lowTimeThreshold {
		d.Level = tcpros.DiagnosticWarn
		d.Message += fmt.Sprintf("; the disk will be full in %v", s.TimeLeft.Round(time.Second))
	}
	return d
}

// uploads describes the upload of finished bags. An unreachable store is no warning: mobile
// robots leave their network.
func uploads(d *tcpros.DiagnosticStatus, h *control.HandoverStats) {
	d.Values = append(d.Values,
		tcpros.DiagnosticValue{Key: "uploads waiting", Value: strconv.Itoa(h.Waiting)},
		tcpros.DiagnosticValue{Key: "bytes waiting for upload", Value: strconv.FormatInt(h.WaitingBytes, 10)},
		tcpros.DiagnosticValue{Key: "uploaded", Value: strconv.Itoa(h.Done)},
		tcpros.DiagnosticValue{Key: "failed tries of uploads", Value: strconv.Itoa(h.Failures)},
		tcpros.DiagnosticValue{Key: "why the last upload failed", Value: h.Err},
		tcpros.DiagnosticValue{Key: "store", Value: h.State.String()},
		tcpros.DiagnosticValue{Key: "store since", Value: h.StateSince.UTC().Format(time.RFC3339)},
		tcpros.DiagnosticValue{Key: "what is wrong with the store", Value: h.StateErr})
	if h.State == control.HandoverFailing {
		d.Level = tcpros.DiagnosticWarn
		d.Message += "; the store refuses uploads: " + h.StateErr
	}
	if h.Refused+h.Lost > 0 {
		d.Level = tcpros.DiagnosticWarn
		d.Message += fmt.Sprintf("; %s cannot be uploaded", plural.Of(h.Refused+h.Lost, "bag"))
	}
}

// lowTimeThreshold is the remaining time of the disk below which there is a warning.
const lowTimeThreshold = 10 * time.Minute

// lost describes messages that should have been recorded but were not.
func lost(dropped, missed uint64) string {
	text := ""
	if dropped > 0 {
		text = fmt.Sprintf("; %d dropped", dropped)
	}
	if missed > 0 {
		text += fmt.Sprintf("; %d never arrived", missed)
	}
	return text
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) }

// known returns a count, or a word for a negative one.
func known(n int64, otherwise string) string {
	if n < 0 {
		return otherwise
	}
	return strconv.FormatInt(n, 10)
}

const noPublisher = "no publisher"

func (r *recordReport) topic(s *control.Stats, t *control.TopicStats, hz float64) tcpros.DiagnosticStatus {
	if t.Type == "" && t.Publishers == 0 { // never was one: a master lists thousands of topics of nodes that crashed
		return tcpros.DiagnosticStatus{Level: tcpros.DiagnosticStale, Name: r.name + ": " + t.Topic, Message: noPublisher}
	}
	d := tcpros.DiagnosticStatus{
		Name:    r.name + ": " + t.Topic,
		Message: fmt.Sprintf("%.1f Hz, %s", hz, humanize.IBytes(t.Bytes)),
		Values: []tcpros.DiagnosticValue{
			{Key: "type", Value: t.Type},
			{Key: "publishers", Value: strconv.Itoa(t.Publishers)},
			{Key: "messages", Value: strconv.FormatUint(t.Messages, 10)},
			{Key: "bytes", Value: strconv.FormatUint(t.Bytes, 10)},
			{Key: "hz", Value: strconv.FormatFloat(hz, 'f', 1, 64)},
			{Key: "dropped", Value: strconv.FormatUint(t.Dropped, 10)},
			{Key: "missed", Value: strconv.FormatUint(t.Missed, 10)},
			{Key: "links lost", Value: strconv.Itoa(t.LinksLost)},
			{Key: "while paused or stopped", Value: strconv.FormatUint(t.Passed, 10)},
		},
	}
	if !t.Last.IsZero() {
		d.Values = append(d.Values, tcpros.DiagnosticValue{Key: "seconds since the last", Value: seconds(s.Taken.Sub(t.Last))})
	}
	switch {
	case t.Dropped+t.Missed > 0:
		d.Level = tcpros.DiagnosticWarn
		d.Message += lost(t.Dropped, t.Missed)
	case t.Publishers == 0:
		d.Level = tcpros.DiagnosticStale
		d.Message = noPublisher
	}
	return d
}
