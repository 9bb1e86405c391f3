package bagfmt_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/recovery"
	"github.com/gorosbag/gorosbag/rosbag"
)

// sameRecovery checks that workers change nothing of what Recover makes of b.
func sameRecovery(tb testing.TB, b []byte, workers int) {
	tb.Helper()
	want, wantRep, wantErr := recoverWith(tb, b, 0)
	got, gotRep, gotErr := recoverWith(tb, b, workers)
	if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) || fmt.Sprintf("%+v", wantRep) != fmt.Sprintf("%+v", gotRep) {
		tb.Fatalf("%d workers:\n%+v, %v\nnone:\n%+v, %v", workers, gotRep, gotErr, wantRep, wantErr)
	}
	if !bytes.Equal(want, got) {
		tb.Fatalf("%d workers: %d bytes, without %d or others", workers, len(got), len(want))
	}
}

// TestParallelRecoverIsTheSame recovers bags, sound and damaged, with any number of
// workers.
func TestParallelRecoverIsTheSame(t *testing.T) {
	t.Parallel()
	for name, full := range sequences(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, workers := range []int{1, 2, 40} {
				sameRecovery(t, full, workers)
				sameRecovery(t, slices.Concat(full, full), workers)
			}
			step := max(1, len(full)*stride(1)/100)
			for at := 0; at < len(full); at += step {
				bad := slices.Clone(full)
				bad[at] ^= 1 << (at % 8)
				sameRecovery(t, bad, 1+at%3)
				sameRecovery(t, full[:at:at], 1+at%3)
			}
		})
	}
	for _, comp := range compressions {
		full := sampleBag(t, comp)
		for _, tt := range damages(t, full) {
			sameRecovery(t, tt.damage(full), 2)
		}
	}
}

// TestParallelRecoverEnds ends while chunks are unpacked.
func TestParallelRecoverEnds(t *testing.T) {
	t.Parallel()
	conns, msgs := sample(60)
	b := chunked(t, rosbag.CompressionBZ2, conns, msgs, 3)
	for left := 4200; left < recordsOf(t, b, 7)[0].off; left += 300 {
		w, err := bagfmt.NewWriter(&limitedWriter{left: left}, bagfmt.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := recovery.Recover(bytes.NewReader(b), int64(len(b)), w, recovery.Options{Workers: 4}); !errors.Is(err, errFull) {
			t.Errorf("%d bytes of room: %v", left, err)
		}
	}
	w, err := bagfmt.NewWriter(&memFile{}, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := recovery.Recover(bytes.NewReader(b), int64(len(b)), w, recovery.Options{Workers: -1}); err == nil {
		t.Error("-1 workers")
	}
}

// TestParallelRecoverFindsAnotherChunk: the length of a chunk leads past the next ones, so that other
// chunks are read ahead than those that are then found.
func TestParallelRecoverFindsAnotherChunk(t *testing.T) {
	t.Parallel()
	conns, msgs := sample(60)
	for _, comp := range []rosbag.Compression{rosbag.CompressionLZ4, rosbag.CompressionBZ2} {
		full := chunked(t, comp, conns, msgs, 6)
		chunks := recordsOf(t, full, 5)
		for first := range 4 {
			for past := first + 2; past < len(chunks); past++ {
				length := chunks[first].dataAt
				bad := setU32(full, length, uint32(chunks[past].off-length-4))
				for _, workers := range []int{1, 3} {
					sameRecovery(t, bad, workers)
				}
				out, rep, err := recoverWith(t, bad, 3)
				if err != nil {
					t.Fatal(err)
				}
				if got := soundBag(t, out); !slices.Equal(got, msgs) {
					t.Errorf("%s: chunk %d leads to chunk %d: %d of %d messages: %+v", comp, first, past, len(got), len(msgs), rep)
				}
			}
		}
	}
}
