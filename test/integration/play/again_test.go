package play_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// longest is how long a bag may be that is played at its own rate each time the tests
// run. Longer ones are played faster, unless GOROSBAG_FULL is set.
const longest = 13 * time.Second

// TestRecordingOfPlay: a recording of a bag that is played is that bag again: the same
// topics, connection headers as asOffered says, payloads and order, and times. With
// GOROSBAG_TIMING on an idle machine it checks these, too, within a millisecond; the
// numbers are logged in any case.
func TestRecordingOfPlay(t *testing.T) {
	t.Parallel()
	for _, bag := range everyBag(t) {
		t.Run(filepath.Base(bag), func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			rate, timed := "1", true
			if lengthOf(bags.Read(t, bag)) > longest && !harness.Full() {
				rate, timed = "5", false
			}
			rec := g.Record("-a", "-O", "out", "--no-rosout")
			g.Start("goplay", bag, "--no-rosout", "--wait-for-subscribers", "--queue", "0", "--rate", rate).Ended(0)
			rec.Stop()
			r := bags.SameTopics(t, asOffered(t, bag), filepath.Join(g.Dir, "out.bag"), recordedTopics)
			if !timed {
				t.Logf("%d messages, at rate %s", r.Compared, rate)
				return
			}
			p99 := time.Duration(r.Times.P99)
			t.Logf("%d messages, half of them within %v of their time, 99 %% within %v", r.Compared, time.Duration(r.Times.P50), p99)
			if os.Getenv("GOROSBAG_TIMING") != "" && p99 > time.Millisecond {
				t.Errorf("99 %% of the messages are within %v of their time, want 1ms", p99)
			}
		})
	}
}

// everyBag returns the real bags of any version. TestPlayOldBags has those that are made.
func everyBag(t *testing.T) []string {
	t.Helper()
	old := slices.DeleteFunc(oldBags(t), func(path string) bool { return strings.Contains(path, "testdata") })
	return append(bags.Real(t), old...)
}

// asOffered writes a bag with the names and the connection headers under which a player
// offers the topics of another one: with a slash in front, all that the protocol asks for, and
// one for all publishers of a topic. It latches if one of them did.
func asOffered(t *testing.T, path string) string {
	t.Helper()
	path, topics := filepath.Join(t.TempDir(), "offered.bag"), bags.Read(t, path)
	w := bags.New(t, path)
	for name, topic := range topics {
		if len(topic.Messages) == 0 {
			continue
		}
		name = "/" + strings.TrimPrefix(name, "/")
		latching, definition := "0", ""
		for _, h := range topic.Headers {
			if h.Latching() {
				latching = "1"
			}
			definition = cmp.Or(definition, h.MessageDefinition())
		}
		conn, err := w.AddConnection(name, rosbag.Header{
			{Key: "latching", Value: latching},
			{Key: "md5sum", Value: topic.Headers[0].MD5Sum()},
			{Key: "message_definition", Value: definition},
			{Key: "topic", Value: name},
			{Key: "type", Value: topic.Headers[0].Type()},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range topic.Messages {
			if err := w.Write(conn, m.Time, m.Data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// lengthOf returns the time from the first to the last message.
func lengthOf(topics map[string]*bags.Topic) time.Duration {
	var first, last time.Duration
	for _, topic := range topics {
		for _, m := range topic.Messages {
			at := time.Duration(m.Time.Sec)*time.Second + time.Duration(m.Time.Nsec)
			if first == 0 || at < first {
				first = at
			}
			last = max(last, at)
		}
	}
	return last - first
}

// recordedTopics leaves out marks: gorecord writes one when a topic falls silent, as at the end of a bag.
func recordedTopics(c *rosbag.Connection) bool { return c.Topic != note.MarksTopic }
