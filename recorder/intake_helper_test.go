package recorder

import (
	"bytes"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// accountOf returns the account of the topic of a link.
func accountOf(p *pipeline, l *intake.Link) control.TopicSummary {
	all := accountsNow(p)
	return all[slices.IndexFunc(all, func(s control.TopicSummary) bool { return s.Topic == l.Conn().Topic })]
}

// lost returns how many messages of the topic of a link were dropped, for whatever cause.
func lost(p *pipeline, l *intake.Link) (n uint64) {
	for _, d := range accountOf(p, l).Dropped {
		n += d
	}
	return n
}

// heldUp reports whether links of a topic wait for room, however short.
func heldUp(p *pipeline, topic string) bool {
	all := p.Stats(time.Now().Add(time.Hour)).Topics
	return slices.ContainsFunc(all, func(s control.TopicStats) bool { return s.Topic == topic && s.HeldUp > 0 })
}

// records counts the connection records of a publisher in a file.
func records(t *testing.T, path string, of tcpros.LinkInfo) int {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(b, []byte("message_definition="+rosbag.Header(of.Header).MessageDefinition()))
}
