package main

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
)

// countingServer serves one file by ranges, and counts what is sent.
type countingServer struct {
	*httptest.Server
	requests, bytes atomic.Int64
	delay           time.Duration // before each answer
	broken          atomic.Int64  // so many answers break off in the middle
}

func serveBag(t *testing.T, bag []byte) *countingServer {
	t.Helper()
	s := &countingServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := s.requests.Add(1)
		if s.delay > 0 {
			<-time.After(s.delay)
		}
		out := &countedResponse{ResponseWriter: w, sent: &s.bytes}
		if n > 1 && s.broken.Add(-1) >= 0 {
			out.breakAfter = 40_000
		}
		http.ServeContent(out, r, "", time.Time{}, bytes.NewReader(bag))
	}))
	t.Cleanup(s.Close)
	return s
}

type countedResponse struct {
	http.ResponseWriter
	sent       *atomic.Int64
	breakAfter int // bytes; zero is never
	done       int
}

// Write implements io.Writer.
func (c *countedResponse) Write(p []byte) (int, error) {
	if c.done += len(p); c.breakAfter > 0 && c.done > c.breakAfter {
		panic(http.ErrAbortHandler)
	}
	c.sent.Add(int64(len(p)))
	return c.ResponseWriter.Write(p)
}

// bagInMemory is a file in memory.
type bagInMemory struct{ bytes.Buffer }

// WriteAt implements io.WriterAt.
func (f *bagInMemory) WriteAt(p []byte, off int64) (int, error) { return copy(f.Bytes()[off:], p), nil }

// manyChunks returns a bag of so many chunks of 768 KiB with an image topic at 20 Hz and two
// others, and the length of its index section.
func manyChunks(t *testing.T, chunks int) (bag []byte, index int64) {
	t.Helper()
	var out bagInMemory
	w, err := bagfmt.NewWriter(&out, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	image := make([]byte, 192<<10)
	rand.NewChaCha8([32]byte{}).Read(image)
	var conns []*rosbag.Connection
	for _, topic := range []string{"/image", "/odom", "/rare"} {
		c, err := w.AddConnection(topic, rosbag.Header{
			{Key: "topic", Value: topic},
			{Key: "type", Value: "std_msgs/String"},
			{Key: "callerid", Value: "/robot"},
			{Key: "md5sum", Value: "992ce8a1687cec8c8bd883ec73ca41d1"},
			{Key: "message_definition", Value: "string data\n"},
		})
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	at := time.Unix(1_700_000_000, 0)
	for n := range chunks * 4 {
		for k, size := range []int{len(image), 100, 50} {
			if k == 2 && n%40 != 0 {
				continue
			}
			frame := append(binary.LittleEndian.AppendUint32(nil, uint32(size)), image[:size]...)
			binary.LittleEndian.PutUint32(frame[4:], uint32(size-4))
			if err := w.Write(conns[k], rosbag.TimeOf(at), frame); err != nil {
				t.Fatal(err)
			}
		}
		at = at.Add(50 * time.Millisecond)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := bagfmt.NewReader(bytes.NewReader(out.Bytes()), int64(len(out.Bytes())), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), int64(len(out.Bytes())) - r.IndexPos()
}

// TestRemoteCost bounds what commands request of a bag in a store: each form of info at most the
// index section and 2 % of the bag in at most 20 requests, check each byte once. A store that
// breaks answers off costs no more than what is asked for again.
func TestRemoteCost(t *testing.T) {
	testkit.SkipInRace(t, "shorter tests read bags in stores with the same goroutines; this one counts requests")
	t.Parallel()
	bag, index := manyChunks(t, 200)
	size := int64(len(bag))
	for name, test := range map[string]struct {
		args     []string
		bytes    int64
		requests int64
		want     []string
		broken   int64
		delay    time.Duration
	}{
		"text":         {args: []string{"info"}, bytes: index + size/50, requests: 20, want: []string{"none [201/201 chunks]", "estimated:   compression, rates and bytes, from 7 of 201 chunks; --exact reads all"}},
		"freq":         {args: []string{"info", "--freq"}, bytes: index + size/50, requests: 20, want: []string{"800 msgs @ 20.0 Hz", "20 msgs @  0.5 Hz"}},
		"verbose":      {args: []string{"info", "-v"}, bytes: index + size/50, requests: 20, want: []string{"150.0 MB", "longest gap at least "}},
		"json":         {args: []string{"info", "--json"}, bytes: index + size/50, requests: 20, want: []string{`"frequency":20`, `"sampled_chunks":7`}},
		"json verbose": {args: []string{"info", "--json", "-v"}, bytes: index + size/50, requests: 20, want: []string{`"messages":800,"bytes":157289600`, `"messages":800,"bytes":83200`}},
		"yaml":         {args: []string{"info", "--yaml"}, bytes: index + size/50, requests: 20, want: []string{"compression: none\nsampled_chunks: 7\n"}},
		"slow":         {args: []string{"info", "--json"}, bytes: index + size/50, requests: 20, delay: 100 * time.Millisecond, want: []string{`"frequency":20`}},
		"exact":        {args: []string{"info", "--json", "--exact"}, bytes: size/4 + index, requests: 500, want: []string{`"frequency":20`}},
		"check":        {args: []string{"check"}, bytes: size + 1<<20, requests: 100, want: []string{"sound: version 2.0, 1620 messages of 3 connections"}},
		"check broken": {args: []string{"check"}, bytes: size + 2<<20, requests: 100, broken: 5, want: []string{"sound: version 2.0, 1620 messages of 3 connections"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveBag(t, bag)
			s.delay = test.delay
			s.broken.Store(test.broken)
			began := time.Now()
			code, stdout, stderr := gobag(append(test.args, s.URL+"/big.bag")...)
			t.Logf("%.2f MB of %.0f, index %.2f, %d requests, %v", float64(s.bytes.Load())/1e6, float64(size)/1e6, float64(index)/1e6, s.requests.Load(), time.Since(began).Round(time.Millisecond))
			if code != 0 || stderr != "" {
				t.Errorf("exit code %d: %s", code, stderr)
			}
			for _, want := range test.want {
				if !strings.Contains(stdout, want) {
					t.Errorf("no %q in:\n%s", want, stdout)
				}
			}
			if s.bytes.Load() > test.bytes || s.requests.Load() > test.requests {
				t.Errorf("%d bytes in %d requests, want at most %d in %d", s.bytes.Load(), s.requests.Load(), test.bytes, test.requests)
			}
		})
	}
}
