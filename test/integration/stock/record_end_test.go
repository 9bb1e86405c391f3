package stock_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// endRows are how a recording ends, and goes on in the next file.
func endRows() []recordRow {
	x := func(topics string) want { return want{files: "x.bag", topics: topics} }
	maxSplits := want{files: "x.bag", topics: "/chatter", says: "--max-splits is ignored without --split"}
	deprecated := want{files: "x_0.bag", topics: "/chatter", says: `Use of "--split <MAX_SIZE>" has been deprecated.`}
	first := want{files: "x_0.bag", topics: "/chatter"}
	return []recordRow{
		{name: "18 SIGINT", args: "/chatter -O x", ours: x("/chatter")},
		{name: "18 SIGTERM", args: "/chatter -O x", signal: syscall.SIGTERM, ours: x("/chatter")},
		{name: "18 SIGTERM, wrapper", args: "/chatter -O x", wrapper: true, signal: syscall.SIGTERM, ours: x("/chatter")},
		{name: "19 SIGHUP", args: "/chatter -O x", signal: syscall.SIGHUP, ours: x("/chatter"), stock: &want{code: killed}},
		{name: "20 duration without a message", args: "--duration=1 /nothing -O x", ends: true, ours: x(""), check: empty},
		{name: "20 duration without a message, wrapper", args: "--duration=1 /nothing -O x", wrapper: true, ends: true, ours: x(""), check: empty},
		{name: "4 duration with blank and unit", args: "--duration 0.7␣s /chatter -O x", ends: true, ours: x(anything), check: lasts(700 * time.Millisecond)},
		{name: "4 duration with exponent", args: "--duration=5e-1 /chatter -O x", ends: true, ours: x(anything), check: lasts(500 * time.Millisecond)},
		{name: "4 duration in minutes", args: "--duration .01m /chatter -O x", ends: true, ours: x(anything), check: lasts(600 * time.Millisecond)},
		{name: "4 duration in minutes, wrapper", args: "--duration 0.01m /chatter -O x", wrapper: true, ends: true, ours: x(anything), check: lasts(600 * time.Millisecond)},
		{name: "4 duration in hours", args: "--dur=0.0002h /chatter -O x", ends: true, ours: x(anything), check: lasts(720 * time.Millisecond)},
		{name: "4 long duration in hours", args: "--duration 1.5h /chatter -O x", ours: x("/chatter")},
		{name: "21 split by time", args: "--split --duration=0.6 /chatter -O x", ours: want{files: anything, topics: "/chatter"}, until: "x_1.bag", check: splits(600 * time.Millisecond)},
		{name: "21 split by time, wrapper", args: "--split --duration=0.6 /chatter -O x", wrapper: true, ours: want{files: anything, topics: "/chatter"}, until: "x_1.bag", check: splits(600 * time.Millisecond)},
		{name: "22 split by time without a message", args: "--split --duration=0.5 /nothing -O x", until: "x_1.bag", ours: want{files: anything}, check: emptyEach},
		{name: "24 size", args: "--size 1 /big -O x", ends: true, ours: x("/big"), check: oneMB},
		{name: "24 size, wrapper", args: "--size=1 /big -O x", wrapper: true, ends: true, ours: x("/big"), check: oneMB},
		{name: "24 split by size", args: "--split --size 1 /big /chatter -O x", ours: want{files: anything, topics: "/big /chatter"}, until: "x_0.bag", check: megabytes},
		{name: "24 split by size, the old way", args: "/big /chatter --split=1 -O x", ours: want{files: anything, topics: "/big /chatter", says: "has been deprecated"}, until: "x_0.bag", check: megabytes},
		{name: "25 max-splits without split", args: "--max-splits 2 /chatter -O x", ours: maxSplits},
		{name: "25 max-splits without split, wrapper: silent", args: "--max-splits=2 /chatter -O x", wrapper: true, ours: maxSplits, stock: &want{files: "x.bag", topics: "/chatter"}},
		{name: "split of a size", args: "--split 1024 /chatter -O x", ours: deprecated},
		{name: "split of a size, wrapper", args: "--split 1024 /chatter -O x", wrapper: true, ours: deprecated},
		{name: "split of a size, after", args: "/chatter -O x --split=1024", ours: deprecated},
		{name: "split without a limit", args: "/chatter -O x --split", ours: first},
		{name: "split without a limit, wrapper", args: "/chatter -O x --split", wrapper: true, ours: first, stock: &want{code: 2, says: "Split specified without giving a maximum duration or size"}},
		{name: "split before a topic", args: "--split /chatter -O x", ours: first, stock: &want{code: killed, says: "--split"}},
		{name: "max-splits that is negative", args: "--split --size 9 --max-splits=-1 /chatter -O x", ours: want{code: 1, says: "Number of splits"}, stock: &first},
		{name: "26 limit", args: "-l 5 /chatter /ns/num -O x", ends: true, ours: x("/chatter /ns/num"), check: five},
		{name: "26 limit, wrapper", args: "--limit=5 /chatter /ns/num -O x", wrapper: true, ends: true, ours: x("/chatter /ns/num"), check: five},
		{name: "26 limit in one word", args: "-l5 /chatter /ns/num -Ox", ends: true, ours: x("/chatter /ns/num"), check: five},
		{name: "26 limit with a silent topic", args: "-l 5 /chatter /nothing -O x", apart: true, ours: x("/chatter"), check: messages("/chatter", 5)},
	}
}

// empty checks a bag without messages.
func empty(t *testing.T, o *outcome) {
	t.Helper()
	if n := harness.Size(&harness.Graph{Dir: o.dir}, "x.bag"); n != 4117 {
		t.Errorf("%s: an empty bag of %d bytes", o.who, n)
	}
}

// emptyEach checks that each interval has its bag, also without messages.
func emptyEach(t *testing.T, o *outcome) {
	t.Helper()
	for i, name := range o.files {
		if n := harness.Size(&harness.Graph{Dir: o.dir}, name); n != 4117 || name != fmt.Sprintf("x_%d.bag", i) {
			t.Errorf("%s: bag %d is %s with %d bytes", o.who, i, name, n)
		}
	}
}

// lasts checks that the messages cover about that time: both look at the clock
// every quarter of a second when nothing arrives, and links take a moment.
func lasts(d time.Duration) func(*testing.T, *outcome) {
	return func(t *testing.T, o *outcome) {
		t.Helper()
		topic := o.topics["/chatter"]
		if topic == nil {
			return // the links came up too late
		}
		m := topic.Messages
		if got := m[len(m)-1].Time.Sub(m[0].Time); got > d+8*time.Second { // a timer is late on a busy machine; another unit is far more
			t.Errorf("%s: messages of %v with a duration of %v", o.who, got, d)
		}
	}
}

// splits checks that no file covers more than that time, and that what it says fits.
func splits(d time.Duration) func(*testing.T, *outcome) {
	return func(t *testing.T, o *outcome) {
		t.Helper()
		if len(o.files) < 2 || o.files[0] != "x_0.bag" || o.files[1] != "x_1.bag" {
			t.Errorf("%s: files %v", o.who, o.files)
		}
		for _, name := range o.files {
			topic := bags.Read(t, filepath.Join(o.dir, name))["/chatter"]
			if topic == nil {
				continue
			}
			m := topic.Messages
			// stock counts from when it opened the file: messages that waited in its queue are older
			if got := m[len(m)-1].Time.Sub(m[0].Time); got > d && o.who == "ours" {
				t.Errorf("%s: %s has messages of %v", o.who, name, got)
			}
			if !strings.Contains(o.p.Out.String(), name) {
				t.Errorf("%s does not say that it records to %s", o.who, name)
			}
		}
		if n := strings.Count(o.p.Out.String(), "Closing"); n < 2 {
			t.Errorf("%s says %d times that it closes a file", o.who, n)
		}
	}
}

// oneMB checks a bag that has ended at its size: with what was on its way and its
// index it may be a little more.
func oneMB(t *testing.T, o *outcome) {
	t.Helper()
	if n := harness.Size(&harness.Graph{Dir: o.dir}, "x.bag"); n < 1<<20 || n > 1_120_000 {
		t.Errorf("%s: %d bytes", o.who, n)
	}
}

// megabytes checks files that end at 1 MB, but for the last.
func megabytes(t *testing.T, o *outcome) {
	t.Helper()
	for _, name := range o.files[:len(o.files)-1] {
		if n := harness.Size(&harness.Graph{Dir: o.dir}, name); n < 1<<20 || n > 1_120_000 {
			t.Errorf("%s: %s has %d bytes", o.who, name, n)
		}
	}
	if len(o.files) < 2 {
		t.Errorf("%s: files %v", o.who, o.files)
	}
}

func five(t *testing.T, o *outcome) {
	t.Helper()
	messages("/chatter", 5)(t, o)
	messages("/ns/num", 5)(t, o)
}
