package annotations

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/recorder/control"
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

// ReportTopic is the topic of the account in the bag.
const ReportTopic = "/gorecord/summary"

// diagnostics returns the account as a message: one status for the recording, and one for each topic that has
// losses.
func diagnostics(s *control.Summary, at time.Time) *stdmsg.DiagnosticArray {
	whole := stdmsg.DiagnosticStatus{
		Name: "gorecord", Message: "complete", Level: level(s.Dropped(), s.Losses() != ""),
		Values: []stdmsg.DiagnosticValue{
			number("messages", s.Messages()), number("lost", s.Dropped()), number("missed", s.Missed()),
			number("links_lost", uint64(s.LinksLost())),
		},
	}
	switch text, unmet := s.Losses(), s.Unmet(); {
	case text != "":
		whole.Message = text
	case unmet != "":
		whole.Message, whole.Level = "expectations were not met: "+unmet, stdmsg.DiagnosticWarn
	}
	d := &stdmsg.DiagnosticArray{Stamp: at, Status: []stdmsg.DiagnosticStatus{whole}}
	for i := range s.Findings {
		f := &s.Findings[i]
		d.Status = append(d.Status, stdmsg.DiagnosticStatus{
			Name: "gorecord: " + f.Topic, Message: f.Kind.String(), Level: stdmsg.DiagnosticWarn,
			Values: []stdmsg.DiagnosticValue{
				number("episodes", uint64(f.Episodes)), number("untold", uint64(f.Untold)),
				{Key: "seconds", Value: fmt.Sprintf("%.1f", f.Time.Seconds())},
				{Key: "against --expect", Value: strconv.FormatBool(f.Expected)},
			},
		})
	}
	for i := range s.Topics {
		one := control.Summary{Topics: s.Topics[i : i+1]}
		if text := one.Losses(); text != "" {
			d.Status = append(d.Status, stdmsg.DiagnosticStatus{
				Name: "gorecord: " + s.Topics[i].Topic, Message: text, Level: level(one.Dropped(), true),
				Values: losses(&s.Topics[i]),
			})
		}
	}
	return d
}

// losses lists what is missing from one topic, and why.
func losses(t *control.TopicSummary) []stdmsg.DiagnosticValue {
	values := []stdmsg.DiagnosticValue{number("messages", t.Messages)}
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
				stdmsg.DiagnosticValue{
					Key:   "seconds without " + p.CallerID,
					Value: fmt.Sprintf("%.1f", p.Without.Seconds()),
				})
		}
	}
	return values
}

func number(key string, n uint64) stdmsg.DiagnosticValue {
	return stdmsg.DiagnosticValue{Key: key, Value: strconv.FormatUint(n, 10)}
}

// level returns an error for messages that the recorder has dropped, and a warning for other losses.
func level(dropped uint64, lossy bool) stdmsg.DiagnosticLevel {
	switch {
	case dropped > 0:
		return stdmsg.DiagnosticError
	case lossy:
		return stdmsg.DiagnosticWarn
	}
	return stdmsg.DiagnosticOK
}

// LossReport returns a function that makes the account of a recording as a frame with a stamp. That function
// returns nil if there is nothing to report. LossReport itself returns nil if nothing is ever reported.
// account returns the present account.
func LossReport(when Report, account func() control.Summary) func(at time.Time) []byte {
	if when == ReportNever {
		return nil
	}
	return func(at time.Time) []byte {
		sum := account()
		if when == ReportOnLoss && sum.Losses() == "" && sum.Unmet() == "" {
			return nil
		}
		return diagnostics(&sum, at).AppendFrame(nil)
	}
}
