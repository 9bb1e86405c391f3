// Package s3 is a client for S3 and the stores that speak its protocol. It resumes uploads in parts, and
// bounds how often it repeats a request: never one that would send a whole file again.
//
// It logs nothing. Credentials are found by package awsauth, and are part of no error.
//
// Decisions: ADR 0063.
package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/awsauth"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

var errNoCertificate = errors.New("no certificate in PEM")

const (
	attempts    = 3 // of a request
	maxHops     = 5 // redirects of a request
	firstDelay  = 100 * time.Millisecond
	idleTimeout = 2 * time.Minute // ends requests without progress
	maxSkew     = 4 * time.Minute // between clocks; stores accept 15
)

// Bucket is a bucket of S3. It implements driver.Bucket.
type Bucket struct {
	*config
	at     place.Place // of the bucket, with the prefix of keys
	meter  *put.Meter
	client *http.Client
	creds  *awsauth.Provider

	mu     sync.Mutex
	region string        // in which the bucket is
	skew   time.Duration // of the server's clock
}

// New returns the bucket of a URL. It sends no request.
func New(at place.Place, meter *put.Meter) (*Bucket, error) {
	c, err := parse(at)
	if err != nil {
		return nil, err
	}
	client, err := c.client()
	if err != nil {
		return nil, at.Explain(err)
	}
	b := &Bucket{config: c, at: at, meter: meter, client: client, region: c.region}
	if b.region == "" {
		b.region = defaultRegion
	}
	b.creds = &awsauth.Provider{Profile: c.profile, Role: c.role, Region: b.region, Client: client}
	return b, nil
}

// Close implements driver.Bucket.
func (b *Bucket) Close() error {
	b.client.CloseIdleConnections()
	return nil
}

// Error is what a store says about a request that it does not fulfill.
type Error struct {
	Status  int    `xml:"-"`
	Code    string // of the protocol, or the words of the status
	Message string // may be empty
	Region  string // of the bucket, if the request went to another one

	renew bool // the credentials have ended, and others may be found
}

// Error implements error.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// ErrorCode returns the code of the protocol.
func (e *Error) ErrorCode() string { return e.Code }

// ErrorMessage returns the text for people.
func (e *Error) ErrorMessage() string { return e.Message }

// HTTPStatusCode returns the status of the response.
func (e *Error) HTTPStatusCode() int { return e.Status }

// request is a request that may be sent several times.
type request struct {
	method string
	key    string // of the object; empty for the bucket
	query  url.Values
	header map[string]string
	body   func() io.Reader // nil for none
	size   int64            // of the body
	hash   string           // SHA-256 of the body in hexadecimal, computed only if hashing is cheap or needed
	hashes func() string    // computes it; may be nil
	once   bool             // repeated after a conflict only
	object bool             // the response is an object, which whoever reads it bounds
}

// conflicts are the codes of stores when another request changes the same object or, with versitygw, the same
// directory. The request is to be repeated.
var conflicts = []string{"OperationAborted", "ConditionalRequestConflict", "ExistingObjectIsDirectory"}

// transient are the codes of errors that may not happen again.
var transient = []string{
	"InternalError", "RequestTimeout", "RequestTimeoutException", "SlowDown", "ServiceUnavailable",
	"BadDigest", "Throttling",
	"ThrottlingException", "ThrottledException", "RequestThrottled", "RequestThrottledException",
	"RequestLimitExceeded",
	"TooManyRequestsException", "BandwidthLimitExceeded", "LimitExceededException", "PriorRequestNotComplete",
	"EC2ThrottledException",
}

// clockCodes are the codes of requests whose time the server does not accept. The response to a HEAD has
// the words of its status only.
var clockCodes = []string{"RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture", "Forbidden"}

// endedCodes are the codes of requests whose credentials have ended; the last one is that of a HEAD.
var endedCodes = []string{"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "BadRequest"}

// maxLearned is how often a request is sent again with what a response has shown: a region, a clock,
// credentials.
const maxLearned = 3

// repeatable reports whether a request that has failed may be sent again.
func (r *request) repeatable(err error) bool {
	var bad *place.ResponseError
	var said *Error
	switch {
	case errors.As(err, &said):
		if slices.Contains(conflicts, said.Code) {
			return true
		}
		temporary := said.Status >= http.StatusInternalServerError &&
			said.Status != http.StatusNotImplemented ||
			said.Status == http.StatusTooManyRequests
		return !r.once && (temporary || slices.Contains(transient, said.Code))
	case r.once, errors.As(err, &bad), errors.Is(err, errCredentials), isCertificate(err):
		return false
	}
	return true
}

// do sends a request, again if it may be, and returns a response that is no error.
func (b *Bucket) do(ctx context.Context, r *request) (*http.Response, error) {
	learned, renewed := 0, false
	for attempt := 1; ; attempt++ {
		resp, err := b.send(ctx, r)
		if err == nil {
			return resp, nil
		}
		var said *Error
		if resp != nil && errors.As(err, &said) && learned < maxLearned &&
			(b.learn(said, resp) || said.renew && !renewed) {
			learned, renewed, attempt = learned+1, renewed || said.renew, attempt-1
			continue
		}
		if ctx.Err() != nil || attempt == attempts || !r.repeatable(err) {
			return nil, err
		}
		delay := firstDelay << (attempt - 1)
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(delay/2 + rand.N(delay)): //nolint:gosec // so that robots do not all come back at once
		}
	}
}

// learn takes the region of the bucket, or the time of the server, from a response, and reports whether
// that is news.
func (b *Bucket) learn(said *Error, resp *http.Response) bool {
	region := said.Region
	if region == "" {
		region = resp.Header.Get("X-Amz-Bucket-Region")
	}
	wrongClock := slices.Contains(clockCodes, said.Code)
	now, err := http.ParseTime(resp.Header.Get("Date"))
	b.mu.Lock()
	defer b.mu.Unlock()
	switch skew := time.Until(now); {
	case region != "" && region != b.region && b.endpoint == nil && isRegion(region):
		b.region = region
		return true
	case err == nil && wrongClock && (skew-b.skew).Abs() > maxSkew:
		b.skew = skew
		return true
	}
	return false
}

// errCredentials marks errors of finding credentials.
var errCredentials = errors.New("credentials")

// send sends a request once, and follows redirects. The response of an error has been read.
func (b *Bucket) send(ctx context.Context, r *request) (*http.Response, error) {
	b.mu.Lock()
	region, skew := b.region, b.skew
	b.mu.Unlock()
	u := b.url(b.at.URL.Host, region, r.key)
	var creds awsauth.Credentials
	if !b.anonymous {
		var err error
		if creds, err = b.creds.Credentials(ctx); err != nil {
			return nil, credentialError(err)
		}
	}
	for hop, signed := 0, !b.anonymous; ; hop++ {
		req, err := b.build(ctx, r, u)
		if err != nil {
			return nil, err
		}
		if signed {
			awsauth.Sign(req, r.payload(u), creds, "s3", region, time.Now().Add(skew))
		}
		resp, err := b.watched(req, r.object)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode < http.StatusMultipleChoices {
			return resp, nil
		}
		next := redirected(resp)
		said := readError(resp)
		if next == nil {
			said.renew = slices.Contains(endedCodes, said.Code) && b.creds.Forget(creds)
			return resp, said
		}
		if hop == maxHops {
			return resp, place.BadResponse("the server redirects more than %d times", maxHops)
		}
		u, signed = next, signed && b.isStore(u.Hostname(), next.Hostname())
	}
}

// isStore reports whether the host that a request is redirected to is part of the store, and may see what
// signs.
func (b *Bucket) isStore(from, to string) bool {
	amazon := b.endpoint == nil &&
		(strings.HasSuffix(to, ".amazonaws.com") || strings.HasSuffix(to, ".amazonaws.com.cn"))
	return amazon || to == from || strings.HasSuffix(to, "."+from)
}

// credentialError is an error of finding credentials.
func credentialError(err error) error {
	switch {
	case errors.Is(err, awsauth.ErrNone):
		return errors.Join(errCredentials, place.ErrNoCredentials)
	case errors.Is(err, awsauth.ErrAway):
		return place.WithKind(place.ErrUnreachable, err)
	}
	return &unusable{err}
}

// unusable is why credentials that are configured cannot be used.
type unusable struct{ error }

// Unwrap returns the cause and what kind of error this is.
func (e *unusable) Unwrap() []error {
	return []error{e.error, errCredentials, place.ErrUnusableCredentials}
}

// redirected returns the URL that a temporary redirect leads to, nil for none.
func redirected(resp *http.Response) *url.URL {
	if resp.StatusCode != http.StatusTemporaryRedirect && resp.StatusCode != http.StatusPermanentRedirect {
		return nil
	}
	u, err := resp.Location()
	if err != nil || u.Scheme != resp.Request.URL.Scheme && u.Scheme != "https" {
		return nil
	}
	return u
}

// payload returns what the signature says of the body. TLS keeps it, and its MD5 is signed.
func (r *request) payload(u *url.URL) string {
	switch {
	case r.hash != "":
	case u.Scheme == "https" && r.body != nil:
		return awsauth.UnsignedPayload
	case r.hashes != nil:
		r.hash = r.hashes()
	default:
		r.hash = emptyHash
	}
	return r.hash
}

// emptyHash is the SHA-256 of nothing.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// expectBytes is the size of bodies that are sent after the server has agreed.
const expectBytes = 2 << 20

// build makes the HTTP request.
func (b *Bucket) build(ctx context.Context, r *request, u *url.URL) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		body = r.body()
	}
	at := *u
	if r.query != nil {
		at.RawQuery = awsauth.Query(r.query)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, at.String(), body)
	if err != nil {
		return nil, err
	}
	req.URL = &at // String and Parse would lose the encoding of the path
	req.ContentLength = r.size
	req.GetBody = nil
	if r.body != nil { // for a connection that the server has closed before anything was sent
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(r.body()), nil }
	}
	if r.size == 0 {
		req.Body = nil
	}
	if r.size >= expectBytes {
		req.Header.Set("Expect", "100-continue")
	}
	for name, value := range r.header {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	req.Header.Set("User-Agent", "gorosbag")
	req.Header.Set("Accept-Encoding", "identity")
	return req, nil
}

// watched sends a request whose body is counted and limited, and ends it after idleTimeout without
// progress. The body of an object may wait for whoever reads it.
func (b *Bucket) watched(req *http.Request, object bool) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(idleTimeout, func() { cancel(place.ErrIdle) })
	req = req.WithContext(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		counted := func(body io.ReadCloser) io.ReadCloser {
			return &idleTimeoutBody{Reader: b.meter.Reader(ctx, body), Closer: body, timer: timer}
		}
		req.Body = counted(req.Body)
		again := req.GetBody
		req.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			return counted(body), err
		}
	}
	resp, err := b.client.Do(req)
	if err != nil {
		timer.Stop()
		cause := context.Cause(ctx)
		cancel(nil)
		if errors.Is(cause, place.ErrIdle) {
			return nil, place.ErrIdle
		}
		return nil, err
	}
	if object && resp.StatusCode < http.StatusMultipleChoices {
		timer.Stop()
		timer = nil
	}
	resp.Body = &idleTimeoutBody{
		Reader: resp.Body, Closer: resp.Body, timer: timer,
		end: func() { cancel(nil) },
	}
	return resp, nil
}

// idleTimeoutBody postpones the idle timeout of a request with each read.
type idleTimeoutBody struct {
	io.Reader
	io.Closer
	timer *time.Timer // nil for no timeout
	end   func()      // nil for the body of a request
}

// Read implements io.Reader.
func (m *idleTimeoutBody) Read(p []byte) (int, error) {
	if m.timer != nil {
		m.timer.Reset(idleTimeout)
	}
	return m.Reader.Read(p)
}

// Close implements io.Closer.
func (m *idleTimeoutBody) Close() error {
	err := m.Closer.Close()
	if m.end != nil {
		if m.timer != nil {
			m.timer.Stop()
		}
		m.end()
	}
	return err
}

// readError reads the body of an error. The response to a HEAD has none, and that of a proxy no XML: then
// the words of the status are the code.
func readError(resp *http.Response) *Error {
	defer resp.Body.Close() //nolint:errcheck // only read from
	text, err := io.ReadAll(resp.Body)
	e := &Error{Status: resp.StatusCode}
	if err != nil || xml.Unmarshal(text, e) != nil || e.Code == "" {
		*e = Error{
			Status: resp.StatusCode,
			Code:   strings.ReplaceAll(http.StatusText(resp.StatusCode), " ", ""),
		}
	}
	return e
}

// decode reads the XML of a response, whose root has to be name. Some stores send an error with a good
// status.
func decode(resp *http.Response, name string, into any) error {
	defer resp.Body.Close() //nolint:errcheck // only read from
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var root struct{ XMLName xml.Name }
	if err := xml.Unmarshal(text, &root); err != nil {
		return place.BadResponse("the server sends no XML")
	}
	switch root.XMLName.Local {
	case name:
	case "Error":
		e := &Error{Status: http.StatusInternalServerError}
		if err := xml.Unmarshal(text, e); err != nil || e.Code == "" {
			e.Code = "InternalError"
		}
		return e
	default:
		return place.BadResponse("the server sends a %.40q, want a %s", root.XMLName.Local, name)
	}
	if err := xml.Unmarshal(text, into); err != nil {
		return place.BadResponse("the server sends XML that makes no sense")
	}
	return nil
}
