package annotations_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/annotations"
)

// TestLossReport: whether there is an account, and what it says.
func TestLossReport(t *testing.T) {
	t.Parallel()
	complete := control.Summary{Topics: []control.TopicSummary{{Topic: "/t", Messages: 10}}}
	missed := control.Summary{Topics: []control.TopicSummary{
		{Topic: "/t", Messages: 10, Publishers: []control.PublisherSummary{{CallerID: "/p", Missed: 3, LinksLost: 1, Without: 1500 * time.Millisecond}}},
		{Topic: "/good", Messages: 1},
	}}
	dropped := control.Summary{Topics: []control.TopicSummary{{Topic: "/t", Messages: 10, Dropped: map[string]uint64{"oversize": 2}}}}
	for name, test := range map[string]struct {
		when annotations.Report
		sum  control.Summary
		want []string // texts in the report; nil for no report
	}{
		"on loss, none":    {annotations.ReportOnLoss, complete, nil},
		"on loss, missed":  {annotations.ReportOnLoss, missed, []string{"gorecord: /t", "missed from /p", "links_lost to /p", "seconds without /p", "1.5"}},
		"on loss, dropped": {annotations.ReportOnLoss, dropped, []string{"gorecord: /t", "lost: oversize"}},
		"always, none":     {annotations.ReportAlways, complete, []string{"gorecord", "complete"}},
		"never, dropped":   {annotations.ReportNever, dropped, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := annotations.LossReport(test.when, func() control.Summary { return test.sum })
			if report == nil {
				if test.when != annotations.ReportNever {
					t.Error("nothing is ever reported")
				}
				return
			}
			frame := report(time.Unix(1700000000, 0))
			if (frame != nil) != (test.want != nil) {
				t.Fatalf("a report of %d bytes", len(frame))
			}
			for _, text := range test.want {
				if !bytes.Contains(frame, []byte(text)) {
					t.Errorf("%q is not in the report", text)
				}
			}
			if bytes.Contains(frame, []byte("/good")) {
				t.Error("a topic that lost nothing is in the report")
			}
		})
	}
}
