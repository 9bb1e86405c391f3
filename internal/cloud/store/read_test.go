package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// data returns n bytes that differ from place to place.
func data(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(b)
	return b
}

// httpStore serves one object by ranges, and counts.
type httpStore struct {
	*httptest.Server
	content []byte
	bytes   atomic.Int64
	gets    atomic.Int64
	fail    atomic.Int64 // so many requests break off in the middle of the response
	tag     atomic.Value // string
}

func newSite(t *testing.T, content []byte) *httpStore {
	t.Helper()
	s := &httpStore{content: content}
	s.tag.Store(`"one"`)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.gets.Add(1)
		w.Header().Set("ETag", s.tag.Load().(string))
		if s.fail.Add(-1) >= 0 {
			w.Header().Set("Content-Range", fmt.Sprintf("%s/%d", strings.Replace(r.Header.Get("Range"), "=", " ", 1), len(content)))
			w.WriteHeader(http.StatusPartialContent)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		http.ServeContent(&countingWriter{w, &s.bytes}, r, "", time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(s.Close)
	return s
}

type countingWriter struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p))) // before the client has them and looks at the count
	return c.ResponseWriter.Write(p)
}

func open(t *testing.T, url string) *store.Object {
	t.Helper()
	o, err := store.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// TestReadAnywhere reads the same from a file and over the web, at any place and by
// many at once.
func TestReadAnywhere(t *testing.T) {
	t.Parallel()
	content := data(9<<20 + 777)
	path := filepath.Join(t.TempDir(), "x.bag")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, url := range map[string]string{"file": "file://" + path, "http": newSite(t, content).URL + "/x.bag"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := open(t, url)
			if o.Size() != int64(len(content)) {
				t.Fatalf("size %d, want %d", o.Size(), len(content))
			}
			var wg sync.WaitGroup
			for seed := range uint64(4) {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(seed, 0))
					for range 50 {
						off, p := r.Int64N(o.Size()+10), make([]byte, r.IntN(1<<20))
						want := content[min(off, o.Size()):min(off+int64(len(p)), o.Size())]
						n, err := o.ReadAt(p, off)
						if n < len(p) && !errors.Is(err, io.EOF) || n == len(p) && err != nil && !errors.Is(err, io.EOF) || !bytes.Equal(p[:n], want) {
							t.Errorf("%d bytes at %d: %d, %v", len(p), off, n, err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// TestReadAhead reads a file from front to back: each byte comes once, and with few
// requests. What is only looked at brings little.
func TestReadAhead(t *testing.T) {
	t.Parallel()
	content := data(20 << 20)
	s := newSite(t, content)
	o := open(t, s.URL)
	got, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("read %d bytes, %v", len(got), err)
	}
	if n := s.bytes.Load(); n != int64(len(content))+1 {
		t.Errorf("%d bytes came over the wire for %d", n, len(content))
	}
	if n := s.gets.Load(); n > 20 {
		t.Errorf("%d requests for 20 MiB", n)
	}
	if n := o.Fetched(); n != int64(len(content)) {
		t.Errorf("fetched %d", n)
	}

	little := open(t, s.URL)
	for _, at := range []int64{19 << 20, 4 << 20} {
		if _, err := little.ReadAt(make([]byte, 100), at); err != nil {
			t.Fatal(err)
		}
	}
	if n := little.Fetched(); n > 1<<20 {
		t.Errorf("two looks brought %d bytes", n)
	}
}

// TestPrefetch: what was announced is read without another request, and comes once. One request
// brings at most half of what is kept.
func TestPrefetch(t *testing.T) {
	t.Parallel()
	content := data(64 << 20)
	s := newSite(t, content)
	o := open(t, s.URL)
	ranges := [][2]int64{{1 << 20, 100}, {5 << 20, 3 << 20}, {9<<20 + 5, 70_000}, {int64(len(content)) - 10, 1 << 20}, {6 << 20, 1 << 20}}
	var wg sync.WaitGroup
	for _, r := range ranges {
		wg.Go(func() { o.Prefetch(r[0], r[1]) })
	}
	wg.Wait()
	for _, r := range ranges {
		want := content[r[0]:min(r[0]+r[1], int64(len(content)))]
		p := make([]byte, len(want))
		if _, err := o.ReadAt(p, r[0]); err != nil || !bytes.Equal(p, want) {
			t.Fatalf("%d bytes at %d: %v", r[1], r[0], err)
		}
	}
	// The first request is that of Open; the ranges that overlap are two or three.
	if n := s.gets.Load(); n > 7 {
		t.Errorf("%d requests for %d ranges", n, len(ranges))
	}
	if n := o.Fetched(); n > 4<<20 {
		t.Errorf("fetched %d bytes for 4 MB", n)
	}
	o.Prefetch(-5, 10) // nothing
	o.Prefetch(0, 0)
	o.Prefetch(o.Size()+1, 10)
	before := o.Fetched()
	big := open(t, s.URL)
	big.Prefetch(0, big.Size())
	if _, err := big.ReadAt(make([]byte, 10), 19<<20); err != nil {
		t.Fatal(err)
	}
	if n := big.Fetched(); n > 20<<20 || o.Fetched() != before {
		t.Errorf("fetched %d and %d bytes", n, o.Fetched()-before)
	}
}

// TestBoundedMemory reads far more than is kept, and then what was read first.
func TestBoundedMemory(t *testing.T) {
	t.Parallel()
	content := data(64 << 20)
	s := newSite(t, content)
	o := open(t, s.URL)
	if _, err := io.Copy(io.Discard, io.NewSectionReader(o, 0, o.Size())); err != nil {
		t.Fatal(err)
	}
	before := s.bytes.Load()
	p := make([]byte, 10)
	if _, err := o.ReadAt(p, 0); err != nil || !bytes.Equal(p, content[:10]) {
		t.Fatal(err)
	}
	if s.bytes.Load() == before {
		t.Error("what was read 64 MiB ago is still in memory")
	}
}

// TestBrokenConnections continues where a response broke off, after any number of tries.
// How long it tries is for TestNetworkAway, with fake time.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	content := data(3 << 20)
	s := newSite(t, content)
	o := open(t, s.URL)
	o.RetryAfter(time.Millisecond)
	s.fail.Store(6)
	got := make([]byte, len(content))
	if _, err := o.ReadAt(got, 0); err != nil || !bytes.Equal(got, content) {
		t.Fatal(err)
	}
	if s.fail.Load() >= 0 {
		t.Error("not all responses that break off were requested")
	}
}

// TestReplaced refuses to mix two versions.
func TestReplaced(t *testing.T) {
	t.Parallel()
	s := newSite(t, data(3<<20))
	o := open(t, s.URL)
	if _, err := o.ReadAt(make([]byte, 10), 0); err != nil {
		t.Fatal(err)
	}
	s.tag.Store(`"two"`)
	if _, err := o.ReadAt(make([]byte, 10), 2<<20); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("error %v", err)
	}
}

// TestReadEnds checks that neither Close nor the context leaves a reader waiting.
func TestReadEnds(t *testing.T) {
	t.Parallel()
	first, hang := atomic.Bool{}, make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if first.CompareAndSwap(false, true) {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(make([]byte, 1<<20)))
			return
		}
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(hang) })
	ctx, cancel := context.WithCancel(t.Context())
	o, err := store.Open(ctx, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := o.ReadAt(make([]byte, 1), 0)
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpenErrors checks what people are told.
func TestOpenErrors(t *testing.T) {
	t.Parallel()
	whole := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/whole":
			w.Write([]byte("all of it"))
		case "/no":
			w.WriteHeader(http.StatusForbidden)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(whole.Close)
	host := strings.TrimPrefix(whole.URL, "http://")
	for _, test := range []struct {
		url, want string
		is        error
	}{
		{url: "s3:///x.bag", want: "names no bucket"},
		{url: "s3://bucket", want: "names no object"},
		{url: "file://tmp/x.bag", want: "file:///tmp/x.bag"},
		{url: "file:///nowhere/x.bag", want: "no such file", is: os.ErrNotExist},
		{url: "s3://key:hidden@bucket/x.bag", want: "do not belong in the URL: set AWS_ACCESS_KEY_ID"},
		{url: "s3://bucket/x.bag?endpoint=http://key:hidden@host", want: "do not belong in the URL"},
		{url: "s3://bucket/x.bag?endpoint=host:9000", want: "the endpoint of the URL is not the address of a store: want http://HOST:PORT"},
		{url: "s3://bucket/x.bag?endpoint=http://", want: "the endpoint of the URL is not the address of a store"},
		{url: "s3://bucket/x.bag?endpoint=http://host:99999", want: "the endpoint of the URL is not the address of a store"},
		{url: "http://host:65536/x.bag", want: "65536 is not a port: want 1 to 65535"},
		{url: "https:///x.bag", want: "names no host: want https://host/name"},
		{url: "azblob:///x.bag", want: "names no container: want azblob://container/name"},
		{url: whole.URL + "/whole?sig=hidden", want: "sends no ranges"},
		{url: whole.URL + "/gone?sig=hidden", want: "no such object", is: store.ErrNotFound},
		{url: "http://user:hidden@" + host + "/no", want: "access denied (403", is: store.ErrDenied},
		{url: "http://user:hidden@127.0.0.1:1/x?sig=hidden", want: "refused"},
	} {
		_, err := store.Open(t.Context(), test.url)
		switch {
		case err == nil || !strings.Contains(err.Error(), test.want):
			t.Errorf("%s: %v, want %q", test.url, err, test.want)
		case strings.Contains(err.Error(), "hidden"):
			t.Errorf("%s: a secret is told: %v", test.url, err)
		case test.is != nil && !errors.Is(err, test.is):
			t.Errorf("%s: %v is not %v", test.url, err, test.is)
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"s3://bucket/a/b.bag":                             "s3://bucket/a/b.bag",
		"https://user:pw@host:1/a@b?X-Amz-Signature=1234": "https://host:1/a@b",
		"s3://key:secret@bucket?x=1":                      "s3://bucket",
		"robot.bag":                                       "robot.bag",
		"what?#1.bag":                                     "what?#1.bag",
	} {
		if got := store.Redact(raw); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}
