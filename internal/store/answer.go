package store

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
)

// Limits of what a server answers. A server may be broken, or in the hands of somebody else: its
// answers must not fill the memory.
const (
	maxErrorBytes  = 64 << 10 // of the body of an error; the rest is cut off
	maxAnswerBytes = 8 << 20  // of any other body but that of an object, such as a page of a list
	maxHeaderBytes = 64 << 10
	maxHops        = 5      // redirects of one request
	maxPages       = 10_000 // of a list, of mostly 1,000 objects each
	maxSamePage    = 3      // answers in a row with the same page of a list: SDKs try that often
)

// checkedTransport is below every client of a store. It bounds what a server answers, whatever the
// client makes of it, and accepts a range of an object only if that was requested, and only of one
// version of the object.
type checkedTransport struct{ next http.RoundTripper }

// newTransport returns a transport with Go's settings but for the bound of a header.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = maxHeaderBytes
	return t
}

// RoundTrip implements http.RoundTripper.
func (t checkedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if hops(req) > maxHops {
		if req.Body != nil {
			req.Body.Close() //nolint:errcheck,gosec // not sent
		}
		return nil, badAnswer("the server redirects more than %d times", maxHops)
	}
	list, isPage := req.Context().Value(pagesOf{}).(*pages)
	if isPage {
		if err := list.next(req); err != nil {
			return nil, err
		}
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if isPage && resp.StatusCode < http.StatusMultipleChoices {
		list.answered()
	}
	first, last, ranged := requestedRange(req)
	switch {
	case endsEarly(req, resp):
		resp.Body.Close() //nolint:errcheck,gosec // not wanted
		return nil, badAnswer("the server ends an upload before it has all of it")
	case resp.StatusCode >= http.StatusMultipleChoices: // clients report its status whatever they make of its text
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
		resp.Body = &boundedBody{resp.Body, maxAnswerBytes}
	}
	return resp, nil
}

// endsEarly reports whether a response ends an upload to Google's store before its last part, whose
// range names the size. The SDK would leave who sends the rest waiting for ever.
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

// checkRange returns an error unless a response has the requested bytes of the expected version of
// the object.
func checkRange(resp *http.Response, first, last int64) error {
	if resp.StatusCode != http.StatusPartialContent {
		return badAnswer("the server sends no ranges: download the bag and name the file")
	}
	var from, to, total int64
	switch n, _ := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &total); n {
	case 2:
		total = -1 // an asterisk: not known
	case 3:
		last = min(last, total-1)
	default:
		return badAnswer("the server does not tell which bytes it sends")
	}
	if from != first || to != last {
		return badAnswer("the server sends the bytes %d to %d, %d to %d were requested", from, to, first, last)
	}
	if of, ok := resp.Request.Context().Value(versionOf{}).(*version); ok {
		return of.check(total, resp.Header)
	}
	return nil
}

// version tells the versions of an object apart, so that reads do not mix two of them.
type version struct {
	mu   sync.Mutex
	size int64  // negative until a response tells it
	tag  string // the ETag, or the time of the last change if there is no strong ETag; empty until a response has one
}

// check returns an error if a response is of another version.
func (v *version) check(size int64, h http.Header) error {
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
		return &answerError{ErrChanged.Error(), ErrChanged}
	}
	return nil
}

// versionOf is the key of the *version that the ranges requested with a context have to be of.
type versionOf struct{}

// pages counts the pages of a list, which are requested one after the other.
type pages struct {
	all  int
	url  string // of the page that was requested last
	same int    // answers with that page
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
		return badAnswer("the server repeats a page of a list without end")
	case l.all >= maxPages:
		return badAnswer("the server's list has more than %d pages: name a folder in that place", maxPages)
	}
	return nil
}

// answered counts the page that was requested last. An attempt that failed is none: how often it is
// repeated, the SDKs bound.
func (l *pages) answered() {
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
		p = p[:b.left+1] // one more tells whether it goes on
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, errTooLong
	}
	return n, err
}

var errTooLong = badAnswer("the answer of the server is longer than any that makes sense")

// answerError is what is wrong with an answer. Its methods but Error and Unwrap keep the SDKs from
// asking again.
type answerError struct {
	reason string
	kind   error
}

// badAnswer returns an error about an answer that cannot be used.
func badAnswer(format string, args ...any) error {
	return &answerError{fmt.Sprintf(format, args...), ErrAnswer}
}

// Error implements error.
func (e *answerError) Error() string { return e.reason }

// Unwrap returns ErrAnswer or ErrChanged.
func (e *answerError) Unwrap() error { return e.kind }

// RetryableError is what the SDK of S3 asks.
func (*answerError) RetryableError() bool { return false }

// NonRetriable is what the SDK of Azure looks for.
func (*answerError) NonRetriable() {}

// survive calls a driver. Drivers use fields of an answer without a look at whether the server has
// sent them: that is an error of this call, and must not end a recording.
func survive(call func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case runtime.Error:
			err = badAnswer("the answer of the server is incomplete (%v)", p)
		default:
			panic(p)
		}
	}()
	return call()
}

// withVersion returns a context in which ranges have to be of a version.
func withVersion(ctx context.Context, v *version) context.Context {
	return context.WithValue(ctx, versionOf{}, v)
}

// withPages returns a context for the requests of all pages of one list.
func withPages(ctx context.Context) context.Context {
	return context.WithValue(ctx, pagesOf{}, new(pages))
}

// withWholeObject returns a context for the request of an object without a range.
func withWholeObject(ctx context.Context) context.Context {
	return context.WithValue(ctx, wholeObject{}, true)
}
