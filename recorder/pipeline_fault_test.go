package recorder

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// faulty fails the at-th operation of all its files together, a write after half of
// its bytes.
type faulty struct {
	err   error // what the operation returns
	mu    sync.Mutex
	at, n int
	sync  bool // count syncs instead of writes
	syncs map[disk.Handle]int
}

// faultyFile is one of them.
type faultyFile struct {
	disk.Handle
	*faulty
}

func (f *faulty) wrap(inner disk.Handle) disk.Handle { return faultyFile{inner, f} }

func (f *faulty) due(isSync bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sync != isSync {
		return false
	}
	f.n++
	return f.n == f.at
}

func (f faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if f.due(false) {
		n, err := f.Handle.WriteAt(p[:len(p)/2], off)
		return n, errors.Join(f.err, err)
	}
	return f.Handle.WriteAt(p, off)
}

func (f faultyFile) Sync() error {
	f.mu.Lock()
	if f.syncs == nil {
		f.syncs = map[disk.Handle]int{}
	}
	f.syncs[f.Handle]++
	f.mu.Unlock()
	if f.due(true) {
		return f.err
	}
	return f.Handle.Sync()
}

// TestEveryWriteFailsOnce checks for each write that what was written before can be
// read, that the bag has an index if anything could still be written, and that the
// account is right. A full disk ends the recording; after any other fault it goes on
// in a new file and nothing is lost.
func TestEveryWriteFailsOnce(t *testing.T) {
	t.Parallel()
	for name, injected := range map[string]error{"full": syscall.ENOSPC, "fault": errInjected} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at++ {
				if testWriteFails(t, at, injected) {
					if at < 5 {
						t.Errorf("only %d writes were visited", at)
					}
					return
				}
			}
		})
	}
}

// testWriteFails reports whether there were fewer than at writes.
func testWriteFails(t *testing.T, at int, injected error) bool {
	t.Helper()
	f := &faulty{at: at, err: injected}
	p := testPipeline(t, Options{ChunkBytes: 20 << 10}, f.wrap)
	l := open(t, p, "/t", "/p")
	testlink.PublishPlain(l, 20)
	err := p.close()
	if err == nil {
		return true
	}
	if !errors.Is(err, injected) {
		t.Fatalf("write %d: %v", at, err)
	}
	kept, indexed := uint64(0), true
	for _, b := range p.Bags.Finished.List() {
		if b.Name != b.Place.Target() { // closed without an index
			indexed = false
			continue
		}
		byTime, _ := testlink.Numbers(t, b.Name)
		kept += uint64(len(byTime[1]))
	}
	topic := accountOf(p, l)
	if indexed && kept != topic.Messages {
		t.Errorf("write %d: %d messages in the bags, %d counted", at, kept, topic.Messages)
	}
	if sum := topic.Messages + topic.Dropped[control.DropDisk.String()]; sum != 20 {
		t.Errorf("write %d: %d messages accounted for, 20 sent", at, sum)
	}
	if topic.Bytes != topic.Messages*10_000 {
		t.Errorf("write %d: %d bytes in %d messages of 10000", at, topic.Bytes, topic.Messages)
	}
	if errors.Is(injected, errInjected) && topic.Messages != 20 {
		t.Errorf("write %d: %d messages after a fault that a new file heals", at, topic.Messages)
	}
	return false
}

// TestFailedSyncMovesOn: a sync that failed is not repeated; what comes after goes
// into a new file, once.
func TestFailedSyncMovesOn(t *testing.T) {
	t.Parallel()
	f := &faulty{at: 2, sync: true, err: errInjected}
	handed := &finishedFiles{}
	p := testPipeline(t, Options{ChunkBytes: 20 << 10, Sync: SyncChunk, Handover: handed}, f.wrap)
	var first disk.Handle
	p.Current().Wrap(func(h disk.Handle) disk.Handle { first = h.(faultyFile).Handle; return h })
	l := open(t, p, "/t", "/p")
	testlink.PublishPlain(l, 20)
	err := p.close()
	if !errors.Is(err, errInjected) || !strings.Contains(err.Error(), "what was written after byte") {
		t.Fatalf("got %v, want the failed sync", err)
	}
	if p.Bags.Finished.Number() != 2 || f.syncs[first] != 2 {
		t.Errorf("%d files, syncs %v: none may follow the failed one", p.Bags.Finished.Number(), f.syncs)
	}
	var kept []uint32
	for _, b := range p.Bags.Finished.List() {
		byTime, _ := testlink.Numbers(t, b.Name)
		kept = append(kept, byTime[1]...)
	}
	checkCount(t, "in both files", map[uint32][]uint32{1: kept}, 1, 20)
	if good := p.Bags.Finished.List()[1].Name; !slices.Equal(handed.names, []string{good}) {
		t.Errorf("handed over: %v, want only %s", handed.names, good)
	}
}

// finishedFiles is a Handover that notes which files are finished.
type finishedFiles struct {
	noHandover
	mu    sync.Mutex
	names []string
}

func (f *finishedFiles) Finished(path string, _ int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names = append(f.names, path)
}

// TestSecondFaultEnds: a disk that fails again does not get a third file.
func TestSecondFaultEnds(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{ChunkBytes: 20 << 10}, func(f disk.Handle) disk.Handle { return broken{f} })
	l := open(t, p, "/t", "/p")
	testlink.PublishPlain(l, 20)
	if err := p.close(); !errors.Is(err, errInjected) {
		t.Fatalf("got %v", err)
	}
	if topic := accountOf(p, l); p.Bags.Finished.Number() != 2 || topic.Messages+topic.Bytes != 0 || topic.Dropped[control.DropDisk.String()] != 20 {
		t.Errorf("%d files, %d messages, %d bytes, dropped %v", p.Bags.Finished.Number(), topic.Messages, topic.Bytes, topic.Dropped)
	}
}

// broken takes the head of a bag and what follows its chunks, but no chunk.
type broken struct{ disk.Handle }

func (b broken) WriteAt(p []byte, off int64) (int, error) {
	if off == 4117 && len(p) > 10_000 {
		return 0, errInjected
	}
	return b.Handle.WriteAt(p, off)
}
