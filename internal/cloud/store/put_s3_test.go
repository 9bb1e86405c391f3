package store_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
)

// TestConflict: a store that responds once that another request changes the object, or its
// directory, is asked again. Other errors are not for the SDK to retry.
func TestConflict(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	t.Setenv("AWS_REGION", "us-east-1")
	for name, test := range map[string]struct {
		status, requests int
	}{
		"OperationAborted":           {http.StatusConflict, 2},
		"ConditionalRequestConflict": {http.StatusConflict, 2},
		"ExistingObjectIsDirectory":  {http.StatusConflict, 2},
		"InternalError":              {http.StatusInternalServerError, 1},
		"SlowDown":                   {http.StatusServiceUnavailable, 1},
	} {
		var requests atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			if requests.Add(1) == 1 {
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, "<Error><Code>"+name+"</Code><Message>no</Message></Error>")
			} else if err != nil || !strings.Contains(string(b), "a bag") {
				t.Errorf("%s: %q, %v", name, b, err)
			}
		}))
		b, err := store.OpenBucket(t.Context(), "s3://bags?use_path_style=true&endpoint="+server.URL, 0)
		if err != nil {
			t.Fatal(err)
		}
		content := []byte("a bag")
		sums, err := b.Sum(t.Context(), bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		err = b.Put(t.Context(), &store.File{ReaderAt: bytes.NewReader(content), Name: "a.bag", Sums: sums})
		if got := requests.Load(); got != int64(test.requests) || (err == nil) != (got > 1) {
			t.Errorf("%s: %d requests, %v", name, got, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		server.CloseClientConnections()
		server.Close()
	}
}
