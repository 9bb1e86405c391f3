package face

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// Status returns the state of the recording and of its topics, for rosctl. Calls come one at a
// time.
func (f *Face) Status(node string) (stamp time.Time, parts []stdmsg.DiagnosticStatus) {
	stats, err := f.control.Stats()
	if err != nil {
		return time.Now(),
			[]stdmsg.DiagnosticStatus{{
				Level: stdmsg.DiagnosticStale, Name: node + ": recording",
				Message: "not recording",
			}}
	}
	return stats.Taken, diagnostics(node, &stats, &f.onGraph)
}

// diagnostics describes the recording, then its topics.
func diagnostics(node string, s *control.Stats, r *rates) []stdmsg.DiagnosticStatus {
	r.update(s)
	parts := []stdmsg.DiagnosticStatus{recordDiagnostics(node, s)}
	wrong := problems(s)
	for i := range s.Topics {
		t := topicDiagnostics(node, s, &s.Topics[i], r.topics[s.Topics[i].Topic].messages)
		if found := wrong[s.Topics[i].Topic]; len(found) > 0 {
			t.Level = stdmsg.DiagnosticWarn
			t.Message += "; " + strings.Join(found, "; ")
		}
		parts = append(parts, t)
	}
	return parts
}

func recordDiagnostics(node string, s *control.Stats) stdmsg.DiagnosticStatus {
	message := s.State.String()
	switch {
	case s.File != "":
		message += ": " + s.File
	case s.Snapshots.Mode == control.SnapshotOnly:
		message += " for snapshots"
	}
	d := stdmsg.DiagnosticStatus{
		Name: node + ": recording", Message: message,
		Values: []stdmsg.DiagnosticValue{
			{Key: "state", Value: s.State.String()},
			{Key: "file", Value: s.File},
			{Key: "part", Value: strconv.Itoa(s.Part)},
			{Key: "file bytes", Value: strconv.FormatInt(s.FileBytes, 10)},
			{Key: "bytes", Value: strconv.FormatInt(s.Bytes, 10)},
			{Key: "seconds", Value: seconds(s.Elapsed)},
			{Key: "buffer bytes", Value: strconv.FormatInt(s.Buffered, 10)},
			{Key: "buffer limit", Value: knownOr(s.BufferMost, "none")},
		},
	}
	dropped, missed := s.Dropped(), s.Missed()
	d.Values = append(d.Values,
		stdmsg.DiagnosticValue{Key: "disk free bytes", Value: knownOr(s.DiskFree, "unknown")},
		stdmsg.DiagnosticValue{
			Key:   "seconds until the disk is full",
			Value: knownOr(int64(s.TimeLeft/time.Second), "unknown"),
		},
		stdmsg.DiagnosticValue{Key: "dropped", Value: strconv.FormatUint(dropped, 10)},
		stdmsg.DiagnosticValue{Key: "missed", Value: strconv.FormatUint(missed, 10)},
		stdmsg.DiagnosticValue{Key: "publishers refused", Value: strconv.Itoa(s.Refused())})
	if s.Snapshots.Mode != control.SnapshotOff {
		d.Values = append(d.Values,
			stdmsg.DiagnosticValue{Key: "snapshots", Value: strconv.Itoa(s.Snapshots.Taken)},
			stdmsg.DiagnosticValue{Key: "snapshot file", Value: s.Snapshots.File},
			stdmsg.DiagnosticValue{Key: "seconds before a snapshot", Value: seconds(s.Snapshots.Held)})
	}
	if s.Handover != nil {
		uploadDiagnostics(&d, s.Handover)
	}
	if dropped+missed > 0 {
		d.Level = stdmsg.DiagnosticWarn
		d.Message += lost(dropped, missed)
	}
	if n := s.Refused(); n > 0 {
		d.Level = stdmsg.DiagnosticWarn
		d.Message += fmt.Sprintf("; %s refused for want of memory or file descriptors",
			wording.Plural(n, "publisher"))
	}
	if text := wrong(s); text != "" {
		d.Level = stdmsg.DiagnosticWarn
		d.Message += "; " + text
	}
	if s.Unread != "" {
		d.Level = stdmsg.DiagnosticWarn
		d.Message += "; replies of the master cannot be read in full: " + s.Unread
	}
	if s.TimeLeft >= 0 && s.TimeLeft < LowTime {
		d.Level = stdmsg.DiagnosticWarn
		d.Message += fmt.Sprintf("; the disk will be full in %v", s.TimeLeft.Round(time.Second))
	}
	return d
}

// uploadDiagnostics describes the upload of finished bags. An unreachable store is no warning: mobile
// robots leave their network.
func uploadDiagnostics(d *stdmsg.DiagnosticStatus, h *control.HandoverStats) {
	d.Values = append(d.Values,
		stdmsg.DiagnosticValue{Key: "uploads waiting", Value: strconv.Itoa(h.Waiting)},
		stdmsg.DiagnosticValue{Key: "bytes waiting for upload", Value: strconv.FormatInt(h.WaitingBytes, 10)},
		stdmsg.DiagnosticValue{Key: "uploaded", Value: strconv.Itoa(h.Done)},
		stdmsg.DiagnosticValue{Key: "failed tries of uploads", Value: strconv.Itoa(h.Failures)},
		stdmsg.DiagnosticValue{Key: "why the last upload failed", Value: h.Err},
		stdmsg.DiagnosticValue{Key: "store", Value: h.State.String()},
		stdmsg.DiagnosticValue{Key: "store since", Value: h.StateSince.UTC().Format(time.RFC3339)},
		stdmsg.DiagnosticValue{Key: "what is wrong with the store", Value: h.StateErr})
	if h.State == control.HandoverFailing {
		d.Level = stdmsg.DiagnosticWarn
		d.Message += "; the store refuses uploads: " + h.StateErr
	}
	if h.Refused+h.Lost > 0 {
		d.Level = stdmsg.DiagnosticWarn
		d.Message += fmt.Sprintf("; %s cannot be uploaded", wording.Plural(h.Refused+h.Lost, "bag"))
	}
}

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

// knownOr returns a count, or a word for a negative one.
func knownOr(n int64, otherwise string) string {
	if n < 0 {
		return otherwise
	}
	return strconv.FormatInt(n, 10)
}

const noPublisher = "no publisher"

func topicDiagnostics(node string, s *control.Stats, t *control.TopicStats,
	hz float64,
) stdmsg.DiagnosticStatus {
	// never was one: a master lists thousands of topics of nodes that crashed
	if t.Type == "" && t.Publishers == 0 {
		return stdmsg.DiagnosticStatus{
			Level: stdmsg.DiagnosticStale, Name: node + ": " + t.Topic,
			Message: noPublisher,
		}
	}
	d := stdmsg.DiagnosticStatus{
		Name:    node + ": " + t.Topic,
		Message: fmt.Sprintf("%.1f Hz, %s", hz, humanize.IBytes(t.Bytes)),
		Values: []stdmsg.DiagnosticValue{
			{Key: "type", Value: t.Type},
			{Key: "publishers", Value: strconv.Itoa(t.Publishers)},
			{Key: "messages", Value: strconv.FormatUint(t.Messages, 10)},
			{Key: "bytes", Value: strconv.FormatUint(t.Bytes, 10)},
			{Key: "hz", Value: strconv.FormatFloat(hz, 'f', 1, 64)},
			{Key: "dropped", Value: strconv.FormatUint(t.Dropped, 10)},
			{Key: "missed", Value: strconv.FormatUint(t.Missed, 10)},
			{Key: "links lost", Value: strconv.Itoa(t.LinksLost)},
			{Key: "left out, as asked", Value: strconv.FormatUint(t.LeftOut, 10)},
			{Key: "while paused or stopped", Value: strconv.FormatUint(t.Passed, 10)},
		},
	}
	if !t.Last.IsZero() {
		d.Values = append(d.Values,
			stdmsg.DiagnosticValue{Key: "seconds since the last", Value: seconds(s.Taken.Sub(t.Last))})
	}
	switch {
	case t.Dropped+t.Missed > 0:
		d.Level = stdmsg.DiagnosticWarn
		d.Message += lost(t.Dropped, t.Missed)
	case t.Publishers == 0:
		d.Level = stdmsg.DiagnosticStale
		d.Message = noPublisher
	}
	return d
}
