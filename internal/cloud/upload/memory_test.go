package upload

import (
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"testing"
)

// waitingBag bounds the bytes of memory that a bag takes while it waits: docs/storage.md names the number, and
// TestSoak of test/integration/service relies on it.
const waitingBag = 1 << 10

// TestWaitingBagsTakeLittleMemory: a store may refuse uploads for weeks. An attempt leaves the checksums and the
// metadata of a bag in memory, so each bag is tried once.
func TestWaitingBagsTakeLittleMemory(t *testing.T) { // not parallel: it measures the heap
	const bags = 150
	r := newTestStore(t)
	var back func()
	u := r.stopped(func(o *Options) {
		o.Metadata = func(io.ReaderAt, int64) (map[string]string, error) {
			back = r.away() // the store has answered, but does not take the bag
			return map[string]string{"host": "robot-17"}, nil
		}
	})
	try := func(names ...string) (inUse int64) {
		t.Helper()
		for _, name := range names {
			r.record(u, name, 10)
			f := u.files[len(u.files)-1]
			if u.uploadFile(t.Context(), f) == nil || f.sums == nil || !f.described {
				t.Fatalf("%s: uploaded, or not read", name)
			}
			back()
			u.moveToBack(f)
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // the first one keeps pooled memory for the second one to free
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := try("first.bag") // with what is there once
	names := make([]string, bags)
	for n := range names {
		names[n] = fmt.Sprintf("robot_2026-11-26-21-11-17_%d.bag", n)
	}
	each := (try(names...) - before) / bags
	t.Logf("%d bytes for each bag", each)
	if each > waitingBag {
		t.Errorf("a bag that waits takes %d bytes, want %d at most", each, waitingBag)
	}
	if !u.Keeps(filepath.Join(r.dir, "first.bag")) {
		t.Error("a bag that waits is not kept")
	}
}
