package clouds

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/driver"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/response"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// roundTripper responds as a function does.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// cloudBuckets opens a bucket of Google and one of Azure whose requests go to transport.
func cloudBuckets(t *testing.T, transport http.RoundTripper) map[string]driver.Bucket {
	t.Helper()
	transport = response.Transport{Next: transport}
	gs, err := gcsblob.OpenBucket(t.Context(), gcp.NewAnonymousHTTPClient(transport), "bags", nil)
	if err != nil {
		t.Fatal(err)
	}
	o := new(container.ClientOptions)
	o.Transport = &http.Client{Transport: transport}
	client, err := container.NewClientWithNoCredential("http://store/bags", o)
	if err != nil {
		t.Fatal(err)
	}
	azure, err := azureblob.OpenBucket(t.Context(), client, nil)
	if err != nil {
		t.Fatal(err)
	}
	buckets := map[string]driver.Bucket{}
	for scheme, b := range map[string]*blob.Bucket{place.SchemeGS: gs, place.SchemeAzure: azure} {
		buckets[scheme] = &bucket{blob: b, meter: put.NewMeter(0)}
		t.Cleanup(func() { b.Close() })
	}
	return buckets
}

// zeros is a body without end.
type zeros struct{ read *int64 }

// Read implements io.Reader.
func (z zeros) Read(p []byte) (int, error) {
	*z.read += int64(len(p))
	return len(p), nil
}

// upload uploads an object of size bytes.
func upload(ctx context.Context, b driver.Bucket, size int64) error {
	content := bytes.NewReader(make([]byte, size))
	sums, err := put.Sum(ctx, content, size, b.PartBytes(size))
	if err != nil {
		return err
	}
	return b.Put(ctx, "a.bag", &put.File{ReaderAt: content, Sums: sums})
}

// TestResponsesOfClouds: whatever the servers of Google and Azure send, the outcome is a result or an error,
// soon, never a panic, and little is read of it.
func TestResponsesOfClouds(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string // endless if it is *
		header map[string]string
	}{
		"nothing":        {200, "", nil},
		"no content":     {204, "", nil},
		"part":           {206, "", nil},
		"a redirect":     {307, "", map[string]string{"Location": "http://store/again"}},
		"a bare 308":     {308, "", nil},
		"denied":         {403, "", nil},
		"null":           {200, "null", nil},
		"no entry":       {200, `{"items":[null],"prefixes":[""]}`, nil},
		"no field":       {200, `{"items":[{}]}`, nil},
		"a page again":   {200, `{"nextPageToken":"again"}`, nil},
		"an empty page":  {200, "<EnumerationResults/>", map[string]string{"Content-Type": "application/xml"}},
		"empty entries":  {200, "<EnumerationResults><Blobs><Blob/><BlobPrefix/></Blobs></EnumerationResults>", nil},
		"empty fields":   {200, "<EnumerationResults><Blobs><Blob><Name/><Properties/></Blob></Blobs></EnumerationResults>", nil},
		"a marker again": {200, "<EnumerationResults><Blobs/><NextMarker>again</NextMarker></EnumerationResults>", nil},
		"bad headers":    {200, "", map[string]string{"Last-Modified": "never", "x-goog-generation": "x", "x-goog-hash": "md5=?", "x-ms-creation-time": "?", "X-Upload-Content-Length": "-"}},
		"endless":        {200, "*", nil},
		"endless error":  {403, "*", nil},
	} {
		var read int64
		requests := 0
		transport := roundTripper(func(r *http.Request) (*http.Response, error) {
			if err := r.Context().Err(); err != nil {
				return nil, err
			}
			if r.Body != nil {
				_, _ = io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
			requests++
			w := httptest.NewRecorder()
			for key, value := range test.header {
				w.Header().Set(key, value)
			}
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, strings.TrimSuffix(test.body, "*"))
			resp := w.Result()
			if test.body == "*" {
				resp.Body, resp.ContentLength = io.NopCloser(zeros{&read}), -1
			}
			resp.Request = r
			return resp, nil
		})
		for scheme, b := range cloudBuckets(t, transport) {
			for what, do := range map[string]func(ctx context.Context) error{
				"list": func(ctx context.Context) error {
					for _, err := range b.List(response.WithPages(ctx), "", true) {
						if err != nil {
							return err
						}
					}
					return nil
				},
				"attributes": func(ctx context.Context) error {
					_, err := b.Attributes(ctx, "a.bag")
					return err
				},
				"read all": func(ctx context.Context) error {
					r, err := b.Open(response.WithWholeObject(ctx), "a.bag", 0, -1)
					if err != nil {
						return err
					}
					_, err = io.CopyN(io.Discard, r, 1<<20)
					return errors.Join(err, r.Close())
				},
				"range": func(ctx context.Context) error {
					body, err := b.Open(response.WithVersion(ctx, response.NewVersion(1000)), "a.bag", 10, 10)
					if err == nil {
						body.Close()
						t.Errorf("%s, %s: no range, and no error", scheme, name)
					}
					return err
				},
				"delete": func(ctx context.Context) error { return b.Delete(ctx, "a.bag") },
				"write":  func(ctx context.Context) error { return upload(ctx, b, 5) },
				"put":    func(ctx context.Context) error { return upload(ctx, b, 20<<20) },
			} {
				requests, read = 0, 0
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				err := response.Survive(func() error { return do(ctx) })
				cancel()
				if errors.Is(err, context.DeadlineExceeded) || read > 2*response.MaxBodyBytes {
					t.Errorf("%s, %s, %s: %d requests, %d bytes, %v", scheme, name, what, requests, read, err)
				}
			}
		}
	}
}
