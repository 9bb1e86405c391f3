package convert

import (
	"io"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros2"
)

// TestReportEscapes: the names in a bag cannot control the terminal to which a report is printed.
func TestReportEscapes(t *testing.T) {
	t.Parallel()
	r := report{Out: "out", topics: []*ros2.TopicReport{{Topic: "/a\u009b31m"}}}
	for name, write := range map[string]func(io.Writer) error{"text": r.text, "JSON": r.json} {
		var b strings.Builder
		err := write(&b)
		if got := b.String(); err != nil || !strings.Contains(got, "31m") || strings.ContainsRune(got, '\u009b') {
			t.Errorf("%s: wrote %q, error %v", name, got, err)
		}
	}
}
