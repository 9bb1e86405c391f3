package store_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
)

// objectServer serves one object, as a web server and as a store.
type objectServer struct {
	*httptest.Server
	mu      sync.Mutex
	content []byte
	tag     string
	ranges  bool // it heeds the header Range
}

func newObjectServer(t *testing.T, content []byte) *objectServer {
	t.Helper()
	s := &objectServer{content: content, tag: `"one"`, ranges: true}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		content, tag, ranges := s.content, s.tag, s.ranges
		s.mu.Unlock()
		if !ranges {
			r.Header.Del("Range")
		}
		w.Header().Set("ETag", tag)
		http.ServeContent(w, r, "", time.Unix(1_700_000_000, 0), bytes.NewReader(content))
	}))
	t.Cleanup(s.Close)
	return s
}

// change changes what the server has from the next request on.
func (s *objectServer) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// objectURLs are the URLs of the object of a server, by scheme.
func (s *objectServer) objectURLs() map[string]string { return urlsAt(s.URL, "a.bag") }

// TestRangesIgnored: a server that sends the whole object where a range was requested is an error,
// told at once, and not the content of the bag.
func TestRangesIgnored(t *testing.T) {
	t.Parallel()
	s := newObjectServer(t, data(3<<20))
	for name, url := range s.objectURLs() {
		s.change(func() { s.ranges = true })
		o := open(t, url)
		s.change(func() { s.ranges = false })
		began := time.Now()
		for _, off := range []int64{0, 2 << 20} {
			if n, err := o.ReadAt(make([]byte, 100), off); !errors.Is(err, store.ErrBadResponse) || !strings.Contains(err.Error(), "sends no ranges") || n != 0 {
				t.Errorf("%s: at %d: %d bytes, %v", name, off, n, err)
			}
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: told after %v", name, took)
		}
	}
}

// TestOtherRange: the bytes of another range than the requested one are an error.
func TestOtherRange(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"bytes 1-100/1000", "bytes 0-10/1000", "bytes 0-2000/1000", "bytes */1000", "", "bytes 0-"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead || r.Header.Get("Range") == "bytes=0-0" {
				http.ServeContent(w, r, "", time.Unix(1, 0), bytes.NewReader(make([]byte, 1000)))
				return
			}
			w.Header().Set("Content-Range", header)
			w.WriteHeader(http.StatusPartialContent)
			w.Write(make([]byte, 1000))
		}))
		for name, url := range urlsAt(s.URL, "a.bag") {
			if n, err := open(t, url).ReadAt(make([]byte, 100), 0); !errors.Is(err, store.ErrBadResponse) || n != 0 {
				t.Errorf("%s: %q: %d bytes, %v", name, header, n, err)
			}
		}
		s.Close()
	}
}

// TestReplacedUnseen: an object that was replaced by one of the same size and time is known by its
// ETag.
func TestReplacedUnseen(t *testing.T) {
	t.Parallel()
	s := newObjectServer(t, data(3<<20))
	for name, url := range s.objectURLs() {
		o := open(t, url)
		if _, err := o.ReadAt(make([]byte, 100), 0); err != nil {
			t.Fatal(err)
		}
		s.change(func() { s.tag += "2" })
		if n, err := o.ReadAt(make([]byte, 100), 2<<20); !errors.Is(err, store.ErrChanged) || n != 0 {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
}

// TestRedirectsEnd: a server that redirects in circles is asked six times, not more.
func TestRedirectsEnd(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/"+strconv.FormatInt(requests.Add(1), 10), http.StatusTemporaryRedirect)
	}))
	t.Cleanup(s.Close)
	for name, url := range urlsAt(s.URL, "a.bag") {
		requests.Store(0)
		if _, err := store.Open(t.Context(), url); err == nil || !strings.Contains(err.Error(), "redirects more than 5 times") {
			t.Errorf("%s: %v", name, err)
		}
		if n := requests.Load(); n != 6 {
			t.Errorf("%s: %d requests", name, n)
		}
	}
}

// endless sends a body without end, until the client has enough.
func endless(status int, header map[string]string, unit string) http.HandlerFunc {
	block := []byte(strings.Repeat(unit, 64<<10/len(unit)))
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for key, value := range header {
			w.Header().Set(key, value)
		}
		w.WriteHeader(status)
		for r.Method != http.MethodHead && r.Context().Err() == nil {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}
}

// TestErrorBodyEnds: the text of an error may be endless; its status counts all the same.
func TestErrorBodyEnds(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]error{http.StatusForbidden: store.ErrDenied, http.StatusNotFound: store.ErrNotFound} {
		s := httptest.NewServer(endless(status, nil, "no "))
		for name, url := range urlsAt(s.URL, "a.bag") {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			if _, err := store.Open(ctx, url); !errors.Is(err, want) {
				t.Errorf("%s: %d: %v", name, status, err)
			}
			cancel()
		}
		s.Close()
	}
}
