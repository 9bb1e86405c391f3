package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/response"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// serve opens a bucket of a server with keys.
func serve(t *testing.T, h http.HandlerFunc, parameters string) *Bucket {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	environment(t, map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token"})
	b, err := open(t, "s3://bags?endpoint="+s.URL+parameters)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// fileOf returns a file to upload.
func fileOf(t *testing.T, content []byte) *put.File {
	t.Helper()
	r, size := bytes.NewReader(content), int64(len(content))
	sums, err := put.Sum(t.Context(), r, size, put.PartBytes(size))
	if err != nil {
		t.Fatal(err)
	}
	return &put.File{ReaderAt: r, Sums: sums, Metadata: map[string]string{"host": "r1"}, OnUpload: func(string) error { return nil }}
}

// TestRepeated: how often a request is sent, by what the server answers to it.
func TestRepeated(t *testing.T) {
	for code, test := range map[string]struct{ status, head, putOnce int }{
		"InternalError":              {500, 3, 1},
		"SlowDown":                   {503, 3, 1},
		"NotImplemented":             {501, 1, 1},
		"TooManyRequests":            {429, 3, 1},
		"RequestTimeout":             {400, 3, 1},
		"AccessDenied":               {403, 1, 1},
		"NoSuchKey":                  {404, 1, 1},
		"PreconditionFailed":         {412, 1, 1},
		"OperationAborted":           {409, 3, 3},
		"ConditionalRequestConflict": {409, 3, 3},
	} {
		var requests atomic.Int64
		b := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			requests.Add(1)
			w.WriteHeader(test.status)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
		}, "")
		count := func(what string, want int, do func() error) {
			requests.Store(0)
			err := do()
			if n := int(requests.Load()); err == nil || n != want {
				t.Errorf("%s, %s: %d requests, want %d; %v", code, what, n, want, err)
			}
		}
		count("list", test.head, func() error {
			for _, err := range b.List(t.Context(), "", true) {
				return err
			}
			return nil
		})
		f := fileOf(t, []byte("a bag"))
		count("put", test.putOnce, func() error { return b.Put(t.Context(), "a.bag", f) })
		f.Small = true
		count("put of little", test.head, func() error { return b.Put(t.Context(), "a.bag", f) })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		count("canceled", 0, func() error { return b.Delete(ctx, "a.bag") })
	}
}

// TestLostConnection: a server that closes the connection is asked again, but not with a whole file.
func TestLostConnection(t *testing.T) {
	var requests atomic.Int64
	b := serve(t, func(http.ResponseWriter, *http.Request) {
		requests.Add(1)
		panic(http.ErrAbortHandler)
	}, "")
	if err := b.Delete(t.Context(), "a.bag"); err == nil || requests.Load() != attempts {
		t.Errorf("%d requests, %v", requests.Load(), err)
	}
	requests.Store(0)
	if err := b.Put(t.Context(), "a.bag", fileOf(t, []byte("a bag"))); err == nil || requests.Load() != 1 {
		t.Errorf("%d requests, %v", requests.Load(), err)
	}
}

// TestOtherPartFailed: a part whose context ends because the server has refused another part has the error of that one,
// but no response.
func TestOtherPartFailed(t *testing.T) {
	b := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }, "")
	ctx, cancel := context.WithCancelCause(t.Context())
	refused := &Error{Status: http.StatusForbidden, Code: "AccessDenied"}
	cancel(refused)
	resp, err := b.do(ctx, &request{method: http.MethodHead})
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, refused) {
		t.Error(err)
	}
}

// TestClock: a robot whose clock is wrong signs with the time of the server.
func TestClock(t *testing.T) {
	ahead := 26 * time.Hour
	var requests atomic.Int64
	b := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		now := time.Now().Add(ahead)
		w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
		at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		if err != nil || now.Sub(at).Abs() > 15*time.Minute {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<Error><Code>RequestTimeTooSkewed</Code></Error>")
		}
	}, "")
	for want := int64(2); want <= 3; want++ { // the first request twice, the others once
		if err := b.Put(t.Context(), "a.bag", fileOf(t, []byte("a bag"))); err != nil || requests.Load() != want {
			t.Errorf("%d requests, %v", requests.Load(), err)
		}
	}
}

// TestRegion: the region of a bucket of Amazon is learned from its response, once.
func TestRegion(t *testing.T) {
	environment(t, map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"})
	b, err := open(t, "s3://bags")
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	right := "eu-central-1"
	b.client = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.Host)
		resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"X-Amz-Bucket-Region": {right}}, Body: http.NoBody, Request: r}
		if !strings.Contains(r.Header.Get("Authorization"), "/"+right+"/s3/") {
			resp.StatusCode = 400
			resp.Body = io.NopCloser(strings.NewReader("<Error><Code>AuthorizationHeaderMalformed</Code></Error>"))
		}
		return resp, nil
	})}
	for range 2 {
		if err := b.Delete(t.Context(), "a.bag"); err != nil {
			t.Error(err)
		}
	}
	const host = ".amazonaws.com"
	want := "bags.s3.us-east-1" + host + " bags.s3.eu-central-1" + host + " bags.s3.eu-central-1" + host
	if got := strings.Join(asked, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	right = "us-west-2"
	b.client.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusMovedPermanently, Header: http.Header{"X-Amz-Bucket-Region": {fmt.Sprintf("r-%d", len(asked))}}, Body: http.NoBody, Request: r}, nil
	})
	if err := b.Delete(t.Context(), "a.bag"); err == nil {
		t.Error("no error")
	}
}

// roundTripper responds as a function does.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestRedirect: a request that is sent to another server is signed for it, and has its body.
func TestRedirect(t *testing.T) {
	var bodies []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		bodies = append(bodies, string(text))
		if err != nil || r.Header.Get("Authorization") == "" || r.URL.Path != "/there" {
			t.Errorf("%s, %v, %q", r.URL, err, r.Header)
		}
	}))
	t.Cleanup(other.Close)
	status := http.StatusTemporaryRedirect
	b := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", other.URL+"/there")
		w.WriteHeader(status)
	}, "")
	if err := b.Put(t.Context(), "a.bag", fileOf(t, []byte("a bag"))); err != nil || len(bodies) != 1 || bodies[0] != "a bag" {
		t.Errorf("%q, %v", bodies, err)
	}
	status = http.StatusFound // would change the method
	if err := b.Put(t.Context(), "a.bag", fileOf(t, []byte("a bag"))); err == nil || len(bodies) != 1 {
		t.Errorf("%q, %v", bodies, err)
	}
}

// TestVerified: a whole object that does not match the checksum of the store is an error at its end; what is no
// checksum of the content is not compared.
func TestVerified(t *testing.T) {
	content := "a bag"
	sum := sha256.Sum256([]byte(content))
	for header, good := range map[string]bool{
		"X-Amz-Checksum-Crc32c: " + crc32c(0x364b3fb7):                        false,
		"X-Amz-Checksum-Sha256: " + base64.StdEncoding.EncodeToString(sum[:]): true,
		"X-Amz-Checksum-Crc32: AAAAAA==":                                      false,
		"X-Amz-Checksum-Crc64nvme: AAAAAAAAAAA=":                              false,
		"X-Amz-Checksum-Crc32: AAAAAA==-2":                                    true,
		"X-Amz-Checksum-Other: AAAAAA==":                                      true,
	} {
		for _, parameters := range []string{"", "&response_checksum_validation=when_required"} {
			b := serve(t, func(w http.ResponseWriter, r *http.Request) {
				name, value, _ := strings.Cut(header, ": ")
				if r.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" {
					w.Header().Set(name, value)
				}
				fmt.Fprint(w, content)
			}, parameters)
			r, err := b.Open(t.Context(), "a.bag", 0, -1)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if want := good || parameters != ""; string(got) != content || (err == nil) != want || r.Size != int64(len(content)) {
				t.Errorf("%s%s: %q, %v", header, parameters, got, err)
			}
			r.Close()
		}
	}
	// The check value of this CRC in the catalog of parametrized CRC algorithms.
	body := verified(io.NopCloser(strings.NewReader("123456789")), http.Header{"X-Amz-Checksum-Crc64nvme": {"rosUhgp5mIg="}})
	if _, err := io.ReadAll(body); err != nil {
		t.Error(err)
	}
}

// multipart is a server with one upload in parts.
type multipart struct {
	algorithm string // of the upload that is there
	begun     int
	complete  string // what it says to the last request
	sums      string // what the requests for parts had
}

// ServeHTTP implements http.Handler.
func (m *multipart) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	q := r.URL.Query()
	switch {
	case q.Has("uploads"):
		m.begun++
		m.algorithm = r.Header.Get("X-Amz-Checksum-Algorithm")
		w.Header().Set("X-Amz-Checksum-Algorithm", m.algorithm)
		fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>new</UploadId></InitiateMultipartUploadResult>")
	case r.Method == http.MethodGet:
		fmt.Fprintf(w, "<ListPartsResult><ChecksumAlgorithm>%s</ChecksumAlgorithm></ListPartsResult>", m.algorithm)
	case r.Method == http.MethodPut:
		m.sums += r.Header.Get(checksumHeader) + " "
		w.Header().Set(checksumHeader, r.Header.Get(checksumHeader))
		w.Header().Set("Etag", `"`+hex.EncodeToString(body[:1])+`"`)
	default:
		if got := strings.Count(string(body), "<ChecksumCRC32C>"); (got == 2) != (m.algorithm == algorithm) {
			fmt.Fprint(w, "<Error><Code>InvalidPart</Code></Error>")
			return
		}
		fmt.Fprint(w, m.complete)
	}
}

const isComplete = "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>"

// TestParts: checksums of parts are sent unless the store must not get any, and an upload with those of another algorithm
// is not continued.
func TestParts(t *testing.T) {
	for name, test := range map[string]struct {
		parameters, algorithm, complete string
		upload                          string
		begun                           int
		want                            string // of the error
	}{
		"a new one":                {complete: isComplete, begun: 1},
		"without sums":             {parameters: "&request_checksum_calculation=when_required", complete: isComplete, begun: 1},
		"continued":                {upload: "old", algorithm: algorithm, complete: isComplete},
		"continued, without sums":  {upload: "old", algorithm: "null", complete: isComplete},
		"of another algorithm":     {upload: "old", algorithm: "CRC32", complete: isComplete, begun: 1},
		"of an algorithm not sent": {upload: "old", algorithm: algorithm, parameters: "&request_checksum_calculation=when_required", complete: isComplete, begun: 1},
		"an error with status 200": {complete: "<Error><Code>AccessDenied</Code><Message>late</Message></Error>", begun: 1, want: "AccessDenied: late"},
		"nothing":                  {complete: "", begun: 1, want: "sends no XML"},
		"something else":           {complete: "<html/>", begun: 1, want: `sends a "html"`},
	} {
		m := &multipart{algorithm: test.algorithm, complete: test.complete}
		b := serve(t, m.ServeHTTP, test.parameters)
		f := fileOf(t, make([]byte, 9<<20))
		f.Upload = test.upload
		err := b.Put(t.Context(), "a.bag", f)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) || m.begun != test.begun {
			t.Errorf("%s: begun %d times, %v", name, m.begun, err)
		}
		if without := strings.TrimSpace(m.sums) == ""; without != (test.parameters != "") {
			t.Errorf("%s: sums %q", name, m.sums)
		}
	}
}

// TestHeaders: what an object gets, and a key with every kind of character.
func TestHeaders(t *testing.T) {
	const key = "a//b c+d%2Fe/ü?.bag"
	b := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/bags/"+key || r.URL.RawPath != "/bags/a//b%20c%2Bd%252Fe/%C3%BC%3F.bag" {
			t.Errorf("%q, %q", r.URL.Path, r.URL.RawPath)
		}
		if r.Method == http.MethodHead {
			w.Header().Set("Content-Length", "5")
			w.Header().Set("X-Amz-Meta-Sha256", "ab")
			w.Header().Set("Etag", `"0011"`)
			return
		}
		for name, want := range map[string]string{
			"X-Amz-Meta-Host": "r1", "X-Amz-Server-Side-Encryption": "aws:kms", "X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id": "k",
			"If-None-Match": "*", "Content-Md5": "eqDAHkC0/x9gNJNVkmRZUg==", "X-Amz-Security-Token": "token", "Content-Type": "application/octet-stream",
		} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}, "&ssetype=aws:kms&kmskeyid=k")
	f := fileOf(t, []byte("a bag"))
	f.Exclusive = true
	if err := b.Put(t.Context(), key, f); err != nil {
		t.Error(err)
	}
	if a, err := b.Attributes(t.Context(), key); err != nil || a.Metadata["sha256"] != "ab" || !bytes.Equal(a.MD5, []byte{0, 0x11}) {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestCredentialsMissing: requests without credentials are not sent, and not repeated.
func TestCredentialsMissing(t *testing.T) {
	environment(t, map[string]string{"AWS_EC2_METADATA_DISABLED": "true"})
	b, err := open(t, "s3://bags")
	if err != nil {
		t.Fatal(err)
	}
	b.client = &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
		t.Error("a request is sent")
		return nil, io.EOF
	})}
	if err := b.Delete(t.Context(), "a.bag"); !errors.Is(err, place.ErrNoCredentials) {
		t.Error(err)
	}
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/")
	err = b.at.Explain(b.Delete(t.Context(), "a.bag"))
	if !errors.Is(err, place.ErrDenied) || !strings.Contains(err.Error(), "the credentials cannot be used: ") {
		t.Error(err)
	}
}

// TestConnectionsKept: as many connections are kept as reads are in flight. Each new one would cost handshakes.
func TestConnectionsKept(t *testing.T) {
	const parallel = 8
	var all sync.WaitGroup
	b := serve(t, func(http.ResponseWriter, *http.Request) {
		all.Done()
		all.Wait() // so that they are in flight at once
	}, "")
	var opened atomic.Int64
	transport := b.client.Transport.(response.Transport).Next.(*http.Transport)
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		opened.Add(1)
		return dial(ctx, network, address)
	}
	for range 3 {
		all.Add(parallel)
		var group sync.WaitGroup
		for range parallel {
			group.Go(func() {
				if err := b.Delete(t.Context(), "a.bag"); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
	if n := opened.Load(); n != parallel {
		t.Errorf("%d connections, want %d", n, parallel)
	}
}

// TestListEndsEarly: a list that says that it goes on, but not where, is not taken for a whole one.
func TestListEndsEarly(t *testing.T) {
	b := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>")
	}, "")
	var err error
	for _, err = range b.List(t.Context(), "", true) {
	}
	if !errors.Is(err, place.ErrBadResponse) {
		t.Error(err)
	}
}
