package recorder

import (
	"runtime"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// The tests of promises reach what the intake knows through these functions only.

// heapBesideBuffer returns what is on the heap, but for what the buffer counts.
func heapBesideBuffer(p *pipeline) int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) - p.Accounts().Usage().Held
}

// written reports whether nothing but the open chunk is on its way to the disk.
func (p *pipeline) written() bool { return p.Accounts().Usage().Waiting == 0 }

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
	return p.Accounts().Summary(time.Now()).Topics
}
