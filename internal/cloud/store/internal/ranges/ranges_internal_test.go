package ranges

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// flakyStore is a store behind an unreliable network.
type flakyStore struct {
	content []byte
	down    func() bool
	hang    bool // rather than break off
	n       int
}

func (l *flakyStore) Open(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	l.n++
	part := l.content[offset : offset+length]
	switch {
	case !l.down():
		return io.NopCloser(bytes.NewReader(part)), nil
	case l.hang:
		return io.NopCloser(io.MultiReader(bytes.NewReader(part[:1]), hanging{ctx})), nil
	}
	return io.NopCloser(bytes.NewReader(part[:1])), nil
}

func (*flakyStore) Close() error { return nil }

// hanging never has anything.
type hanging struct{ ctx context.Context }

func (h hanging) Read([]byte) (int, error) {
	<-h.ctx.Done()
	return 0, h.ctx.Err()
}

// TestNetworkAway: a network that is away for some seconds, or hangs, costs time only.
// After that the error says so, and not that the bag ends there. The next read tries
// again.
func TestNetworkAway(t *testing.T) {
	t.Parallel()
	at, err := place.Parse("s3://bags/a.bag")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		away, most time.Duration
		hang       bool
		want       string // an error; empty for none
	}{
		"for seconds":    {away: 20 * time.Second, most: 22 * time.Second},
		"hangs":          {away: time.Second, hang: true, most: 18 * time.Second},
		"for long":       {away: time.Minute, most: 33 * time.Second, want: place.ErrBrokenOff.Error()},
		"hangs for long": {away: time.Minute, hang: true, most: 50 * time.Second, want: "nothing came"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				from := &flakyStore{content: bytes.Repeat([]byte("bag"), blockBytes), hang: test.hang}
				from.down = func() bool { return time.Since(began) < test.away }
				c := New(t.Context(), at, from, int64(len(from.content)))
				p := make([]byte, len(from.content))
				_, err := c.ReadAt(p, 0)
				switch {
				case test.want == "" && (err != nil || !bytes.Equal(p, from.content)):
					t.Errorf("after %v: %v", time.Since(began), err)
				case test.want != "" && !errors.As(err, new(*place.Error)):
					t.Errorf("%v is no error of the store", err)
				case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)):
					t.Errorf("after %v: %v", time.Since(began), err)
				}
				if took := time.Since(began); took > test.most {
					t.Errorf("took %v and %d requests", took, from.n)
				}
				time.Sleep(time.Minute)
				if _, err := c.ReadAt(p, 0); err != nil || !bytes.Equal(p, from.content) {
					t.Errorf("when the network is back: %v", err)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
