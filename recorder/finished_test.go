package recorder

import (
	"strconv"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// TestFinishedBagsTakeNoHeap: what is remembered of a bag that is closed does not depend
// on what was in it, and is bounded.
func TestFinishedBagsTakeNoHeap(t *testing.T) { // not beside others: it measures the heap
	testkit.SkipInRace(t, "memory is measured, and the detector takes more")
	const topics, splits = 200, 300
	p := testPipeline(t, Options{Split: true, Sync: SyncNone, ChunkBytes: 16 << 10, BufferBytes: 1 << 20, Retain: Retention{Files: 3}}, nil)
	var links []*intake.Link
	for i := range topics {
		links = append(links, open(t, p, "/t"+strconv.Itoa(i), "/p"))
	}
	split := func(n int) {
		for _, l := range links {
			l.Frames(testlink.Frame(1, uint32(n), 100), 1, time.Now())
		}
		c, err := p.RequestSplit(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.ClosedFile(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 10 {
		split(n)
	}
	before := heapInUse()
	for n := 10; n < splits; n++ {
		split(n)
	}
	if more := heapInUse() - before; more > splits<<10 {
		t.Errorf("%d more bags take %d bytes, %d for each", splits-10, more, more/(splits-10))
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	r := sessionOn(p, Options{})
	sum := r.summary(0)
	deleted := sum.Earlier.Deleted
	for _, f := range sum.Files {
		if f.Deleted {
			deleted++
		}
	}
	if n := sum.Earlier.Files + len(sum.Files); n != splits+1 || deleted != splits-3 || sum.Messages() != topics*splits {
		t.Errorf("%d files of which %d were deleted, %d messages", n, deleted, sum.Messages())
	}
}
