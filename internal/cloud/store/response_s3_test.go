package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
)

// s3At returns the URL of an object in a store without credentials.
func s3At(server, name string) string {
	return "s3://bags/" + name + "?anonymous=true&region=us-east-1&endpoint=" + server
}

// urlsAt returns the URLs of an object of a server, by scheme.
func urlsAt(server, name string) map[string]string {
	return map[string]string{"http": server + "/" + name, "s3": s3At(server, name)}
}

// operations are all that is done with a store.
var operations = map[string]func(ctx context.Context, b *store.Bucket, url string) error{
	"open": func(ctx context.Context, _ *store.Bucket, url string) error {
		o, err := store.Open(ctx, url)
		if err != nil {
			return err
		}
		_, err = o.ReadAt(make([]byte, 10), 0)
		return errors.Join(err, o.Close())
	},
	"expand": func(ctx context.Context, _ *store.Bucket, url string) error {
		_, err := store.Expand(ctx, strings.Replace(url, "a.bag", "*.bag", 1), func(string) bool { return true })
		return err
	},
	"list": func(ctx context.Context, b *store.Bucket, _ string) error {
		for _, err := range b.ListIn(ctx, "x") {
			if err != nil {
				return err
			}
		}
		return nil
	},
	"attributes": func(ctx context.Context, b *store.Bucket, _ string) error {
		_, err := b.Attributes(ctx, "a.bag")
		return err
	},
	"read all": func(ctx context.Context, b *store.Bucket, _ string) error {
		_, err := b.ReadAll(ctx, "a.bag", 1<<20)
		return err
	},
	"read": func(ctx context.Context, b *store.Bucket, _ string) error {
		r, err := b.Read(ctx, "a.bag")
		if err != nil {
			return err
		}
		_, err = io.CopyN(io.Discard, r, 1<<20)
		return errors.Join(err, r.Close())
	},
	"write": func(ctx context.Context, b *store.Bucket, _ string) error {
		return b.WriteAll(ctx, "a.bag", []byte("a bag"))
	},
	"write much": func(ctx context.Context, b *store.Bucket, _ string) error {
		return b.WriteAll(ctx, "a.bag", make([]byte, twoParts))
	},
	"put":       func(ctx context.Context, b *store.Bucket, _ string) error { return put(ctx, b, 100, "") },
	"put parts": func(ctx context.Context, b *store.Bucket, _ string) error { return put(ctx, b, twoParts, "") },
	"resume":    func(ctx context.Context, b *store.Bucket, _ string) error { return put(ctx, b, twoParts, "an ID") },
	"find": func(ctx context.Context, b *store.Bucket, _ string) error {
		_, err := b.Find(ctx, "a.bag")
		return err
	},
	"delete": func(ctx context.Context, b *store.Bucket, _ string) error { return b.Delete(ctx, "a.bag") },
	"check": func(ctx context.Context, b *store.Bucket, _ string) error {
		_, err := b.Check(ctx)
		return err
	},
}

// twoParts is the size of a file that is uploaded in two parts.
const twoParts = 8<<20 + 1

// sums are the checksums of the files of put, by size: computing them takes longer than the uploads.
var sums sync.Map

// put uploads a file of so many bytes.
func put(ctx context.Context, b *store.Bucket, size int, upload string) error {
	content := bytes.NewReader(make([]byte, size))
	if _, ok := sums.Load(size); !ok {
		of, err := b.Sum(ctx, content, content.Size())
		if err != nil {
			return err
		}
		sums.Store(size, of)
	}
	of, _ := sums.Load(size)
	return b.Put(ctx, &store.File{ReaderAt: content, Name: "a.bag", Sums: of.(store.Sums), Upload: upload, OnUpload: func(string) error { return nil }})
}

// respond returns a handler that sends the same response to each request.
func respond(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// TestResponsesOfAnyKind: whatever a server sends to whatever request, the outcome is a result or an
// error, soon, and never a panic.
func TestResponsesOfAnyKind(t *testing.T) {
	t.Parallel()
	handlers := map[string]http.HandlerFunc{
		"nothing":                     respond(200, ""),
		"no content":                  respond(204, ""),
		"part of nothing":             respond(206, ""),
		"a redirect nowhere":          respond(301, ""),
		"not modified":                respond(304, ""),
		"an error of none":            respond(400, ""),
		"an empty error":              respond(403, "<Error/>"),
		"an error in a good response": respond(200, "<Error><Code>InternalError</Code></Error>"),
		"null":                        respond(200, "null"),
		"an empty page":               respond(200, "<ListBucketResult/>"),
		"empty entries":               respond(200, "<ListBucketResult><Contents/><CommonPrefixes/></ListBucketResult>"),
		"no time":                     respond(200, "<ListBucketResult><Contents><Key>a.bag</Key><Size>5</Size></Contents></ListBucketResult>"),
		"no key":                      respond(200, "<ListBucketResult><Contents><LastModified>2026-01-02T03:04:05Z</LastModified></Contents></ListBucketResult>"),
		"senseless values":            respond(200, "<ListBucketResult><Contents><Key>a.bag</Key><Size>x</Size><LastModified>y</LastModified></Contents></ListBucketResult>"),
		"empty parts":                 respond(200, "<ListPartsResult><Part/><Part><PartNumber>-7</PartNumber><Size>-1</Size></Part></ListPartsResult>"),
		"no ID":                       respond(200, "<InitiateMultipartUploadResult><UploadId/></InitiateMultipartUploadResult>"),
		"an ID":                       respond(200, "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>"),
		"half a response":             respond(200, "<ListBucketResult><Contents><Key>a.b"),
		"senseless headers":           respond(206, "x", "Content-Range", "bytes -5--9/-3", "ETag", `"`, "Last-Modified", "never", "X-Amz-Meta-Sha256", "%zz", "X-Amz-Checksum-Crc32", "?"),
		"endless pages": func(w http.ResponseWriter, _ *http.Request) {
			page := "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken></ListBucketResult>"
			_, _ = io.WriteString(w, page)
		},
		"endless parts": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>1</NextPartNumberMarker></ListPartsResult>")
		},
		"endless text":        endless(200, nil, "text "),
		"an endless page":     endless(200, nil, "<ListBucketResult>"+strings.Repeat(" ", 16<<10)),
		"an endless error":    endless(403, nil, "<Error><Message>no "),
		"an endless redirect": endless(307, map[string]string{"Location": "/"}, "no "),
		"endless, compressed": endless(200, map[string]string{"Content-Encoding": "gzip"}, "\x1f\x8b\x08\x00"),
		"a claim of much":     respond(206, "x", "Content-Range", "bytes 0-9/9223372036854775807"),
	}
	for name, handler := range handlers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(handler)
			t.Cleanup(s.Close)
			t.Cleanup(s.CloseClientConnections)
			url := s3At(s.URL, "a.bag")
			b, err := store.OpenBucket(t.Context(), strings.Replace(url, "a.bag", "", 1), 0)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			for what, do := range operations {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				if err := do(ctx, b, url); errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v", what, err)
				}
				cancel()
			}
		})
	}
}

// TestLongReason: of a long text of a server the beginning is told.
func TestLongReason(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(respond(400, "<Error><Code>Bad</Code><Message>"+strings.Repeat("é", 20<<10)+"</Message></Error>"))
	t.Cleanup(s.Close)
	_, err := store.Expand(t.Context(), s3At(s.URL, "*.bag"), func(string) bool { return true })
	if err == nil || len(err.Error()) > 1200 || !strings.Contains(err.Error(), "éé…") {
		t.Errorf("%v", err)
	}
}

// TestPagesEnd: a list whose pages repeat, or that has no end, is an error before it fills the memory.
func TestPagesEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		token  func(n int64) string
		object string
		pages  int64 // at most
		want   string
	}{
		"the same token": {func(int64) string { return "again" }, "a.bag", 4, "repeats a page"},
		"a long name":    {func(n int64) string { return fmt.Sprint(n) }, strings.Repeat("long", 2<<10), 1, "a name of 8192 bytes"},
	} {
		var pages atomic.Int64
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, "<ListBucketResult><Contents><Key>%s</Key><LastModified>2026-01-02T03:04:05Z</LastModified></Contents>"+
				"<IsTruncated>true</IsTruncated><NextContinuationToken>%s</NextContinuationToken></ListBucketResult>", test.object, test.token(pages.Add(1)))
		}))
		_, err := store.Expand(t.Context(), s3At(s.URL, "*.bag"), func(string) bool { return false })
		if n := pages.Load(); !errors.Is(err, store.ErrBadResponse) || !strings.Contains(err.Error(), test.want) || n > test.pages {
			t.Errorf("%s: %d pages, %v", name, n, err)
		}
		s.Close()
	}
}
