package put

import (
	"context"
	"io"
	"sync/atomic"

	"golang.org/x/time/rate"
)

// ThrottleBytes is the burst of the rate limit, and the most that one read returns where a rate is set.
const ThrottleBytes = 64 << 10

// Meter counts the bytes that are sent to a store, and limits their rate. It is safe for concurrent use.
type Meter struct {
	limit *rate.Limiter // nil for none
	sent  atomic.Int64
}

// NewMeter returns a Meter that lets perSecond bytes a second pass; zero means no limit.
func NewMeter(perSecond int64) *Meter {
	m := new(Meter)
	if perSecond > 0 {
		m.limit = rate.NewLimiter(rate.Limit(perSecond), ThrottleBytes)
	}
	return m
}

// Sent returns the number of bytes sent so far, including retries.
func (m *Meter) Sent() int64 { return m.sent.Load() }

// Limited reports whether there is a rate.
func (m *Meter) Limited() bool { return m.limit != nil }

// Wait waits until n bytes, at most ThrottleBytes, may pass. When ctx ends first, Wait returns its cause.
func (m *Meter) Wait(ctx context.Context, n int) error {
	if m.limit == nil || n <= 0 {
		return nil
	}
	if m.limit.WaitN(ctx, n) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// uncounted is the key that marks the context of requests whose bytes are neither counted nor limited.
type uncounted struct{}

// Uncounted returns a context for requests whose bytes are neither counted nor limited.
func Uncounted(ctx context.Context) context.Context { return context.WithValue(ctx, uncounted{}, true) }

// Reader returns a reader of what is sent, at the rate of the meter.
func (m *Meter) Reader(ctx context.Context, r io.Reader) io.Reader {
	return &meteredReader{ctx: ctx, m: m, r: r}
}

// meteredReader limits the rate of reads, and counts bytes.
type meteredReader struct {
	ctx context.Context //nolint:containedctx // of one request
	m   *Meter
	r   io.Reader
}

// Read implements io.Reader.
func (s *meteredReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p[:min(len(p), ThrottleBytes)])
	if s.ctx.Value(uncounted{}) != nil {
		return n, err
	}
	s.m.sent.Add(int64(n))
	if e := s.m.Wait(s.ctx, n); e != nil {
		return n, e
	}
	return n, err
}
