package job

import (
	"bytes"
	"io"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
)

type prefetched struct {
	io.ReaderAt
	got int64
}

func (p *prefetched) Prefetch(off, n int64) { p.got += off + n }

// TestMeterIsNoPrefetcher: readers take what is a Prefetcher for an object in a store, where each read costs a request.
func TestMeterIsNoPrefetcher(t *testing.T) {
	t.Parallel()
	j := &Job{Bar: &Bar{}}
	if _, ok := j.Meter(bytes.NewReader(nil), Work{}, nil).(bagfmt.Prefetcher); ok {
		t.Error("a file is a Prefetcher")
	}
	object := &prefetched{ReaderAt: bytes.NewReader(nil)}
	p, ok := j.Meter(object, Work{}, nil).(bagfmt.Prefetcher)
	if !ok {
		t.Fatal("an object of a store is no Prefetcher")
	}
	if p.Prefetch(2, 3); object.got != 5 {
		t.Error("what is announced does not arrive")
	}
}
