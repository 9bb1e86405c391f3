// Package response bounds and checks the responses of stores and web servers, below the SDKs.
//
// Decisions: ADR 0078.
package response

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"

	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// Limits of the response of a server. A server may be broken, or in the hands of somebody else: its
// responses must not fill the memory.
const (
	maxErrorBytes  = 64 << 10 // of the body of an error; the rest is cut off
	MaxBodyBytes   = 8 << 20  // of any other body but that of an object, such as a page of a list
	MaxHeaderBytes = 64 << 10
	maxHops        = 5      // redirects of one request
	maxPages       = 10_000 // of a list, of mostly 1,000 objects each
	maxSamePage    = 3      // responses in a row with the same page of a list: SDKs try that often
)

// Transport is below every client of a store. It bounds the responses of a server, whatever the
// client makes of them, and accepts a range of an object only if that was requested, and only of one
// Version of the object.
type Transport struct{ Next http.RoundTripper }

// keptConnections to a server wait for the next request: as many as are used at once. Each new one costs
// handshakes.
const keptConnections = 10

// NewTransport returns a transport with Go's settings but for the bound of a header and for the
// connections it keeps.
func NewTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = MaxHeaderBytes
	t.MaxIdleConnsPerHost = keptConnections
	return t
}

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if hops(req) > maxHops {
		if req.Body != nil {
			req.Body.Close() //nolint:errcheck,gosec // not sent
		}
		return nil, place.BadResponse("the server redirects more than %d times", maxHops)
	}
	list, isPage := req.Context().Value(pagesOf{}).(*pages)
	if isPage {
		if err := list.next(req); err != nil {
			return nil, err
		}
	}
	resp, err := t.Next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if isPage && resp.StatusCode < http.StatusMultipleChoices {
		list.count()
	}
	first, last, ranged := requestedRange(req)
	switch {
	case endsEarly(req, resp):
		resp.Body.Close() //nolint:errcheck,gosec // not wanted
		return nil, place.BadResponse("the server ends an upload before it has all of it")
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && ranged && hadByte(req, first):
		resp.Body.Close()           //nolint:errcheck,gosec // not wanted
		return nil, place.Changed() // shorter than it was: asking again is useless
	case resp.StatusCode >= http.StatusMultipleChoices:
		// clients report its status whatever they make of its text
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxErrorBytes), resp.Body}
		return resp, nil
	case ranged:
		if err := checkRange(resp, first, last); err != nil {
			resp.Body.Close() //nolint:errcheck,gosec // not wanted
			return nil, err
		}
		resp.Body = &boundedBody{resp.Body, last - first + 1}
	case req.Context().Value(wholeObject{}) == nil:
		resp.Body = &boundedBody{resp.Body, MaxBodyBytes}
	}
	return resp, nil
}

// endsEarly reports whether a response ends an upload to Google's store before its last part, whose
// range names the size. The SDK would leave who sends the rest waiting forever.
func endsEarly(req *http.Request, resp *http.Response) bool {
	return strings.HasSuffix(req.Header.Get("Content-Range"), "/*") &&
		resp.StatusCode < http.StatusMultipleChoices && resp.Header.Get("X-Http-Status-Code-Override") == ""
}

// hops returns the number of redirects that led to a request.
func hops(req *http.Request) (n int) {
	for ; req.Response != nil && req.Response.Request != nil; req = req.Response.Request {
		n++
	}
	return n
}

// requestedRange returns the first and the last byte of an object that a request asks for. ok is
// false if it asks for no range.
func requestedRange(req *http.Request) (first, last int64, ok bool) {
	text := req.Header.Get("Range")
	if azure := req.Header["x-ms-range"]; len(azure) == 1 { //nolint:staticcheck // so does Azure's SDK write it
		text = azure[0]
	}
	n, err := fmt.Sscanf(text, "bytes=%d-%d", &first, &last)
	return first, last, n == 2 && err == nil
}

// checkRange returns an error unless a response has the requested bytes of the expected Version of
// the object.
func checkRange(resp *http.Response, first, last int64) error {
	if resp.StatusCode != http.StatusPartialContent {
		return place.BadResponse("the server sends no ranges: download the bag and name the file")
	}
	var from, to, total int64
	switch n, _ := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &total); n {
	case 2:
		total = -1 // an asterisk: not known
	case 3:
		last = min(last, total-1)
	default:
		return place.BadResponse("the server does not report which bytes it sends")
	}
	if from != first || to != last {
		return place.BadResponse("the server sends the bytes %d to %d, %d to %d were requested", from, to,
			first, last)
	}
	if of, ok := resp.Request.Context().Value(versionOf{}).(*Version); ok {
		return of.check(total, resp.Header)
	}
	return nil
}

// hadByte reports whether the Version of the object that a request expects has the byte at an offset.
func hadByte(req *http.Request, offset int64) bool {
	of, ok := req.Context().Value(versionOf{}).(*Version)
	return ok && offset < of.Size()
}

// Version distinguishes the versions of an object, so that reads do not mix two of them.
type Version struct {
	mu sync.Mutex
	// negative until a response has it
	size int64
	// the ETag, or the time of the last change if there is no strong ETag; empty until a response has one
	tag string
}

// NewVersion returns the Version of an object of size bytes; a negative size is not known yet.
func NewVersion(size int64) *Version { return &Version{size: size} }

// Size returns the length of the object, negative until a response has it.
func (v *Version) Size() int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.size
}

// check returns an error if a response is of another Version.
func (v *Version) check(size int64, h http.Header) error {
	tag := h.Get("ETag")
	if tag == "" || strings.HasPrefix(tag, "W/") {
		tag = h.Get("Last-Modified")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.size < 0 {
		v.size = size
	}
	if v.tag == "" {
		v.tag = tag
	}
	if size >= 0 && size != v.size || tag != "" && tag != v.tag {
		return place.Changed()
	}
	return nil
}

// versionOf is the key of the *Version that the ranges requested with a context have to be of.
type versionOf struct{}

// pages counts the pages of a list, which are requested one after the other.
type pages struct {
	all  int
	url  string // of the page that was requested last
	same int    // responses with that page
}

// pagesOf is the key of the *pages that are requested with a context.
type pagesOf struct{}

// next returns an error if a list has no end.
func (l *pages) next(req *http.Request) error {
	if url := req.URL.String(); url != l.url {
		l.url, l.same = url, 0
	}
	switch {
	case l.same >= maxSamePage:
		return place.BadResponse("the server repeats a page of a list without end")
	case l.all >= maxPages:
		return place.BadResponse("the server's list has more than %d pages: name a folder in that place",
			maxPages)
	}
	return nil
}

// count counts the page that was requested last. An attempt that failed is none: how often it is
// repeated, the SDKs bound.
func (l *pages) count() {
	l.same++
	l.all++
}

// wholeObject is the key that marks a context with which an object is requested without a range. It
// may have any size: who reads it bounds it.
type wholeObject struct{}

// boundedBody fails once a body is longer than left bytes.
type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLong
	}
	if int64(len(p)) > b.left {
		p = p[:b.left+1] // one byte more shows whether the body goes on
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, errTooLong
	}
	return n, err
}

var errTooLong = place.BadResponse("the response of the server is longer than any that makes sense")

// Survive calls a driver. Drivers use fields of a response without a look at whether the server has
// sent them: that is an error of this call, and must not end a recording.
func Survive(call func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case runtime.Error: // its text is about the driver, and says nothing to a user
			err = place.BadResponse("the response of the server is incomplete: a part is missing that every store sends, so this server may not be one, or is out of order")
		default:
			panic(p)
		}
	}()
	return call()
}

// WithVersion returns a context in which ranges have to be of a Version.
func WithVersion(ctx context.Context, v *Version) context.Context {
	return context.WithValue(ctx, versionOf{}, v)
}

// WithPages returns a context for the requests of all pages of one list.
func WithPages(ctx context.Context) context.Context {
	return context.WithValue(ctx, pagesOf{}, new(pages))
}

// WithWholeObject returns a context for the request of an object without a range.
func WithWholeObject(ctx context.Context) context.Context {
	return context.WithValue(ctx, wholeObject{}, true)
}
