package service_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// forgetfulStore takes objects, and lists them without the times that belong there.
type forgetfulStore struct {
	mu      sync.Mutex
	objects map[string]http.Header // of the response to HEAD, by path
	listed  bool
}

// ServeHTTP implements http.Handler.
func (s *forgetfulStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, _ := io.Copy(io.Discard, r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	object := s.objects[r.URL.Path]
	switch {
	case r.URL.Query().Has("list-type"):
		s.listed = true
		_, _ = io.WriteString(w, "<ListBucketResult><Contents><Key>robot/.gorosbag-catalog/x.jsonl.gz</Key><Size>5</Size></Contents></ListBucketResult>")
	case r.Method == http.MethodPut:
		s.objects[r.URL.Path] = http.Header{
			"Content-Length": {strconv.FormatInt(n, 10)}, "X-Amz-Meta-Sha256": r.Header["X-Amz-Meta-Sha256"], "Etag": {`"0"`},
		}
		w.Header().Set("ETag", `"0"`)
	case object == nil:
		w.WriteHeader(http.StatusNotFound)
	default:
		for key, value := range object {
			w.Header()[key] = value
		}
	}
}

// TestStoreForgetful: a list whose entries lack what every store sends ends no recording.
func TestStoreForgetful(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: a store that fails, is slow or lies")
	g := harness.NewGraph(t, "gomaster")
	fake := &forgetfulStore{objects: map[string]http.Header{}}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	rec, _ := storeRecorder(g, "s3://bags/robot?endpoint="+server.URL, []string{"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b"}, "-O", "out", "--split", "--duration", "1s", "--upload-wait", "0s")
	f := peers.NewFlood(g, "/t", 1000)
	harness.Eventually(t, "the store is asked for its summaries", func() bool {
		fake.mu.Lock()
		defer fake.mu.Unlock()
		return fake.listed
	})
	rec.Printed("Summaries of bags for gobag find are not merged")
	f.WaitDone()
	rec.Stop()
	harness.Contains(t, rec.Out.String(), "the server lists an object without the time of its last change")
	if out := rec.Out.String(); strings.Contains(out, "runtime error") || strings.Contains(out, "nil pointer") {
		t.Errorf("the log has a text of Go:\n%s", out)
	}
	checkWhole(g, "/t", 1000)
}

// checkWhole fails unless all bags are closed and have so many messages.
func checkWhole(g *harness.Graph, topic string, want int) {
	g.T.Helper()
	n := 0
	for _, name := range bags.Names(g, "out") {
		if strings.HasSuffix(name, ".active") {
			g.T.Errorf("out%s is left", name)
			continue
		}
		if found := bags.Read(g.T, filepath.Join(g.Dir, "out"+name))[topic]; found != nil {
			n += len(found.Messages)
		}
	}
	if n != want {
		g.T.Errorf("%d messages, want %d", n, want)
	}
}

// TestStoreHostile: whatever a store answers to uploads, the recording does not end by it, and its
// bags are complete.
func TestStoreHostile(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: a store that fails, is slow or lies")
	g := harness.NewGraph(t, "gomaster")
	endless := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(status)
			for block := strings.Repeat(text, 64<<10/len(text)); r.Method != http.MethodHead; {
				if _, err := io.WriteString(w, block); err != nil {
					return
				}
			}
		}
	}
	for name, test := range map[string]struct {
		put  http.HandlerFunc
		text string
	}{
		"no ID": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<InitiateMultipartUploadResult/>")
		}, "begins a multipart upload, but does not say which"},
		"endless error": {endless(http.StatusForbidden, "no "), "the store says "},
		"endless page":  {endless(http.StatusOK, "yes "), "the store"},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.String(), http.StatusTemporaryRedirect)
		}, "redirects more than 5 times"},
	} {
		t.Run(name, func(t *testing.T) {
			g := g.In(t, t.TempDir())
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodHead {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				test.put(w, r)
			}))
			t.Cleanup(server.Close)
			t.Cleanup(server.CloseClientConnections)
			rec, _ := storeRecorder(g, "s3://bags/robot?endpoint="+server.URL, []string{"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b"},
				"-O", "out", "--split", "--size", "10", "--upload-wait", "0s")
			if err := <-camera(g, "/t", 20); err != nil {
				t.Fatal(err)
			}
			rec.Printed("not uploaded yet")
			rec.Stop()
			harness.Contains(t, rec.Out.String(), test.text, "lost: none")
			checkWhole(g, "/t", 20)
		})
	}
}
