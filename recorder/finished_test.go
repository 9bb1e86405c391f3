package recorder

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/testrace"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/files"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// heapInUse returns the bytes of what is reachable.
func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what a sync.Pool held is free only after the second
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestFinishedBagsTakeNoHeap: what is remembered of a bag that is closed does not depend
// on what was in it, and is bounded.
func TestFinishedBagsTakeNoHeap(t *testing.T) { // not beside others: it measures the heap
	testrace.Skip(t, "memory is measured, and the detector takes more")
	const topics, splits = 200, 1000
	p := testPipeline(t, Options{Split: true, Sync: SyncNone, ChunkBytes: 16 << 10, BufferBytes: 1 << 20, Retain: Retention{Files: 3}}, nil)
	var links []*intake.Link
	for i := range topics {
		links = append(links, open(t, p, "/t"+strconv.Itoa(i), "/p"))
	}
	split := func(n int) {
		for _, l := range links {
			l.Frames(testlink.Frame(1, uint32(n), 100), 1, time.Now())
		}
		c, err := p.Commands().RequestSplit(time.Now())
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
	if more := heapInUse() - before; more > 1<<20 {
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
	if n := sum.Earlier.Files + len(sum.Files); n != splits+1 || deleted != splits-4 || sum.Messages() != topics*splits {
		t.Errorf("%d files of which %d were deleted, %d messages", n, deleted, sum.Messages())
	}
}

// TestFinishedBagsAreFoundByNumber: the latest ones are listed under the numbers that they
// keep, the oldest first; what goes wrong again and again is remembered in part.
func TestFinishedBagsAreFoundByNumber(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{Split: true}, nil)
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	l := files.FinishedBags{Retain: p.Bags.Retain}
	const bags = files.KeptBags + 3
	for i := range bags {
		b := &files.Bag{File: p.Out.File, Snapshot: i%2 == 1}
		l.Add(b, fmt.Errorf("fault %d: %w", i, errInjected), !b.Snapshot)
	}
	all := l.Bags()
	if len(all) != files.KeptBags || all[0].ID != 3 || all[files.KeptBags-1].ID != bags-1 || l.Number() != bags {
		t.Errorf("%d bags from %d to %d of %d", len(all), all[0].ID, all[len(all)-1].ID, l.Number())
	}
	for id, want := range map[int]error{-1: control.ErrNoBag, 2: control.ErrNoBag, 3: nil, bags - 1: nil, bags: control.ErrNoBag} {
		f, b, err := l.Open(id)
		if !errors.Is(err, want) || err == nil && b.ID != id {
			t.Errorf("bag %d: %v, %v", id, b.ID, err)
		}
		if f != nil {
			f.Close()
		}
	}
	sum := l.Account()
	if want := (control.EarlierFiles{Files: 3, Snapshots: 1, SnapshotBytes: p.Out.Bytes()}); sum.Earlier != want || sum.Bytes != bags*p.Out.Bytes() || sum.Last != p.Out.Path() {
		t.Errorf("%+v", sum.Earlier)
	}
	if err := l.Err(); !errors.Is(err, errInjected) || len(err.Error()) > 40*files.KeptFaults {
		t.Errorf("%v", err)
	}
}
