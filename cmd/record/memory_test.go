package main

import (
	"math"
	"testing"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder"
)

// What does not fit becomes smaller, also what is asked for. Snapshots get a part of it.
func TestFitMemory(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		limit                     int64
		buffer, snapshots         int64
		wantBuffer, wantSnapshots int64
	}{
		"no limit":             {math.MaxInt64, recorder.Unlimited, 1 << 30, recorder.Unlimited, 1 << 30},
		"enough":               {1 << 30, 256 << 20, 100 << 20, 256 << 20, 100 << 20},
		"no bound":             {1 << 30, recorder.Unlimited, 0, 960 << 20, 0},
		"too little":           {256 << 20, 512 << 20, 100 << 20, 192 << 20, 100 << 20},
		"too little for these": {256 << 20, 512 << 20, 384 << 20, 192 << 20, 144 << 20},
	} {
		o := recorder.Options{BufferBytes: tc.buffer, Snapshot: recorder.Snapshot{Bytes: tc.snapshots}}
		fitMemory(&o, tc.limit, 0, zap.NewNop())
		if o.BufferBytes != tc.wantBuffer || o.Snapshot.Bytes != tc.wantSnapshots {
			t.Errorf("%s: %d, and %d for snapshots; want %d and %d", name, o.BufferBytes, o.Snapshot.Bytes, tc.wantBuffer, tc.wantSnapshots)
		}
	}
}

// The defaults fit into 320 MiB; where there is less, most of it is for the buffer.
func TestBufferFor(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int64]int64{
		32 << 20: 8 << 20, 128 << 20: 54 << 20, 330 << 20: 256 << 20,
	} {
		if got := bufferFor(limit, 10<<20); got != want {
			t.Errorf("%d in %d, want %d", got, limit, want)
		}
	}
}
