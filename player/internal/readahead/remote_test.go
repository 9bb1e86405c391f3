package readahead

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/rosbag"
)

// remoteFile is an object in a store with an infinitely fast link, of which blocks are fetched.
type remoteFile struct {
	*bytes.Reader
	mu     sync.Mutex
	blocks map[int64]bool
}

const remoteBlock = 64 << 10

func (f *remoteFile) ReadAt(p []byte, off int64) (int, error) {
	f.Prefetch(off, int64(len(p)))
	return f.Reader.ReadAt(p, off)
}

// Prefetch implements bagfmt.Prefetcher.
func (f *remoteFile) Prefetch(off, n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for at := off / remoteBlock; at*remoteBlock < off+n; at++ {
		f.blocks[at] = true
	}
}

// fetched returns the bytes that were fetched.
func (f *remoteFile) fetched() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int64(len(f.blocks)) * remoteBlock
}

// TestRemoteReadAhead: at most 3 % of a bag in a store are fetched before the first message is
// played, however fast the link is, and then more with each that is.
func TestRemoteReadAhead(t *testing.T) { // not parallel: a bag of 157 MB in memory delays the network of other tests
	image := strings.Repeat("x", 192<<10)
	var messages []testplay.Message
	for i := range 800 {
		messages = append(messages, testplay.Message{Conn: testplay.ConnA, At: time.Duration(i) * 50 * milli, Text: image})
	}
	data := testplay.MakeBag(t, bagfmt.WriterOptions{}, messages...)
	size := int64(len(data))
	synctest.Test(t, func(t *testing.T) {
		f := &remoteFile{Reader: bytes.NewReader(data), blocks: map[int64]bool{}}
		b := testplay.Open(t, "remote", f, size, bagfmt.ReaderOptions{})
		p, err := plan.New(t.Context(), plan.Options{Log: zap.NewNop()}, []*source.Recording{b}, testplay.Resolve)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		r := New(p, byReceipt(p))
		go r.reader.run(ctx)
		r.Begin(transport.ReadRequest{})
		synctest.Wait() // it waits for room
		first := f.fetched()
		if first > size*3/100 {
			t.Errorf("%d bytes of %d are fetched before the first message is played", first, size)
		}
		played := int64(0)
		for range 100 {
			it, ok := popOne(ctx, r.Queue)
			if !ok {
				t.Fatal("no message")
			}
			if !it.Memory() {
				played += int64(len(it.Frame))
			}
			synctest.Wait()
		}
		ahead := f.fetched() - played
		if ahead < 2*first || ahead > maxAheadBytes+8<<20 {
			t.Errorf("%d bytes are fetched ahead after %d were played", ahead, played)
		}
		t.Logf("%.2f %% before the first message; %.1f MB ahead after %.1f MB", 100*float64(first)/float64(size), float64(ahead)/1e6, float64(played)/1e6)
		cancel()
		synctest.Wait()
	})
}

// sized is a bag of a size.
type sized struct {
	rosbag.Indexed
	info rosbag.Info
}

func (s sized) Info() rosbag.Info { return s.info }

// TestFirstAheadBytes: before the first message a hundredth of all bags in stores is read ahead, at least 1 MiB and at most
// what the queue holds.
func TestFirstAheadBytes(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	local := sized{info: rosbag.Info{Size: 5000 * mib}}
	remote := func(size int64) sized { return sized{info: rosbag.Info{Size: size, Remote: true}} }
	for name, tt := range map[string]struct {
		bags []sized
		want int
	}{
		"no store": {[]sized{local}, maxAheadBytes},
		"one":      {[]sized{remote(500 * mib)}, 5 * mib},
		"more":     {[]sized{remote(500 * mib), local, remote(200 * mib)}, 7 * mib},
		"small":    {[]sized{remote(5 * mib)}, mib},
		"large":    {[]sized{remote(5000 * mib), remote(mib)}, maxAheadBytes},
	} {
		p := new(plan.Plan)
		for _, b := range tt.bags {
			p.Bags = append(p.Bags, &plan.Bag{Source: b})
		}
		if got := firstAheadBytes(p); got != tt.want {
			t.Errorf("%s: %d bytes, want %d", name, got, tt.want)
		}
	}
}
