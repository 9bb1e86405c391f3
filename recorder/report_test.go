package recorder

import (
	"bytes"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/annotations"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// reportIn returns the account that stands in a bag, and when the bag ends.
func reportIn(t *testing.T, path string) (reports []*rosbag.Message, end rosbag.Time) {
	t.Helper()
	r := testlink.OpenBag(t, path)
	for m, err := range rosbag.Messages(r, rosbag.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if end.Before(m.Time) {
			end = m.Time
		}
		if m.Conn.Topic == annotations.ReportTopic {
			kept := *m
			reports = append(reports, &kept)
		}
	}
	return reports, end
}

func TestReport(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		when  Report
		lossy bool
		want  int
	}{
		"on loss, none":   {ReportOnLoss, false, 0},
		"on loss, some":   {ReportOnLoss, true, 1},
		"always, none":    {ReportAlways, false, 1},
		"never, but some": {ReportNever, true, 0},
	}
	for name, tc := range tests {
		for _, c := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4} {
			t.Run(name+" "+string(c), func(t *testing.T) {
				t.Parallel()
				p := testPipeline(t, Options{Report: tc.when, Compression: c, Split: true, BufferBytes: 8 << 20}, nil)
				l, err := p.OpenLink(p.AddTopic("/t", "/t", time.Time{}), testlink.HeaderInfo("/t", "p"))
				if err != nil {
					t.Fatal(err)
				}
				last := time.Now().Add(-time.Hour)
				l.Frames(testlink.Numbered(testlink.Count(0, 10)...), 10, last)
				if tc.lossy {
					sendLarge(t, l, 10, 9<<20)
					l.Frames(testlink.Numbered(12), 1, last)
				}
				if err := p.close(); err != nil {
					t.Fatal(err)
				}
				reports, end := reportIn(t, p.Current().Target())
				if len(reports) != tc.want || end != rosbag.TimeOf(last) {
					t.Fatalf("%d reports, the bag ends at %v; want %d, %v", len(reports), end, tc.want, rosbag.TimeOf(last))
				}
				s := control.Summary{Topics: accountsNow(p)}
				if n := 10 + tc.want; !tc.lossy && s.Messages() != uint64(n) {
					t.Errorf("%d messages, want %d", s.Messages(), n)
				}
				for _, m := range reports {
					if !m.Conn.Header.Latching() {
						t.Error("not latching")
					}
					for _, text := range []string{"gorecord", "gorecord: /t", "lost: oversize", "missed from p", "1 message was lost, 1 message was published and never arrived"} {
						if has := bytes.Contains(m.Data(), []byte(text)); has != (tc.lossy || text == "gorecord") {
							t.Errorf("%q in the report: %v", text, has)
						}
					}
				}
			})
		}
	}
}
