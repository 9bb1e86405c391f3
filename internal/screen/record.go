// Package screen draws for people: what the programs print about their work.
package screen

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/gorosbag/gorosbag/recorder"
)

// RecordSummary returns the closing table of gorecord. What other programs sent,
// such as names, is quoted where it holds anything but plain text.
func RecordSummary(s *recorder.Summary) string {
	tab := newTable("messages", "bytes", "publishers", "lost", "topic")
	for i := range s.Topics {
		t := &s.Topics[i]
		tab.row(t.Messages, humanize.IBytes(t.Bytes), len(t.Publishers), lost(t), topicCell(t))
	}
	return tab.lines() + fmt.Sprintf("%s: %d messages, %s, %s\nlost: %s\n",
		Plain(s.File), s.Messages(), humanize.IBytes(uint64(s.Bytes)), s.Duration.Round(100*time.Millisecond), causes(s))
}

func topicCell(t *recorder.TopicSummary) string {
	switch {
	case len(t.Publishers) == 0:
		return Plain(t.Topic) + "  (no publisher was seen)"
	case t.Type == "":
		return Plain(t.Topic)
	}
	return Plain(t.Topic) + " : " + Plain(t.Type)
}

func lost(t *recorder.TopicSummary) uint64 {
	var n uint64
	for _, d := range t.Dropped {
		n += d
	}
	return n
}

// causes lists drops by cause over all topics.
func causes(s *recorder.Summary) string {
	sum := map[string]uint64{}
	for i := range s.Topics {
		for cause, n := range s.Topics[i].Dropped {
			sum[cause] += n
		}
	}
	if len(sum) == 0 {
		return "none"
	}
	var parts []string
	for _, cause := range slices.Sorted(maps.Keys(sum)) {
		parts = append(parts, fmt.Sprintf("%d %s", sum[cause], cause))
	}
	return strings.Join(parts, ", ")
}
