package recorder

import (
	"runtime"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// The tests of promises reach what the intake knows through these functions only.

// heapInUse returns the bytes of what is reachable.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // what a sync.Pool held is free only after the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// heapBesideBuffer returns what is on the heap, but for what the buffer counts.
func heapBesideBuffer(p *pipeline) int64 { return heapInUse() - p.Usage().Held }

// written reports whether nothing but the open chunk is on its way to the disk.
func (p *pipeline) written() bool { return p.Usage().Waiting == 0 }

// partOf returns the number of the file that is filled.
func partOf(p *pipeline) int { return p.Stats(time.Now()).Part }

// closePipeline ends a recording that must end well.
func closePipeline(t testing.TB, p *pipeline) {
	t.Helper()
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// flushOpen makes the open chunk old enough to be sealed.
func flushOpen(p *pipeline) { p.tick(time.Now().Add(time.Minute)) }

// accountsNow returns the account of all topics.
func accountsNow(p *pipeline) []control.TopicSummary {
	return p.Summary(time.Now()).Topics
}
