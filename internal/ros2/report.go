package ros2

import (
	"fmt"

	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
)

// TopicReport says what became of the messages of one topic and type.
type TopicReport struct {
	Topic    string
	Type     string
	OutTopic string // empty if none was written
	OutType  string
	In, Out  uint64 // messages
	Latched  bool
	Merged   int            // publishers whose latched messages were merged; zero means none
	Notes    []mapping.Note // about every message
	Counts   mapping.Counts // about some messages
	Warnings []string
	Reason   string // why the first missing message is missing; empty if none is
}

// Lost returns the number of messages that are not in the output.
func (t *TopicReport) Lost() uint64 { return t.In - t.Out }

// Lossy returns, in sentences, the losses that the converted messages do not show.
func (t *TopicReport) Lossy() (all []string) {
	count := func(n int64, format string) {
		if n > 0 {
			all = append(all, fmt.Sprintf(format, n))
		}
	}
	count(t.Counts.WrappedTimes, "%d times after 2038-01-19 are negative")
	count(t.Counts.ClampedTimes, "%d times or durations out of range are the nearest that fits")
	count(t.Counts.NormalizedTimes, "%d times have other nanoseconds, by whole seconds")
	count(t.Counts.DroppedValues, "%d values have no field")
	return all
}

// Report says what became of a recording.
type Report struct {
	Topics []*TopicReport // in the order of their connections
}

// Lost returns the number of messages that are not in the output.
func (r *Report) Lost() (n uint64) {
	for _, t := range r.Topics {
		n += t.Lost()
	}
	return n
}

// Failed notes a message that is not in the output, because of err.
func (t *TopicReport) Failed(err error) {
	if t.Reason == "" {
		t.Reason = err.Error()
	}
}
