package bagfmt_test

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestVerifier compares what a Verifier finds in whole and in damaged bags with what a Cursor
// finds.
func TestVerifier(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cpp_lz4.bag", "cpp_bz2.bag", "cpp_none.bag"} {
		whole, err := os.ReadFile(filepath.Join("testdata", name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for at := 4117; at < len(whole); at += max(1, (len(whole)-4117)/200) {
			bag := bytes.Clone(whole)
			bag[at] ^= 0x55
			r, err := bagfmt.NewReader(bytes.NewReader(bag), int64(len(bag)), bagfmt.ReaderOptions{IndexOnly: true})
			if err != nil {
				continue
			}
			var want, got uint64
			var wantErrs, errs int
			c := r.Cursor(rosbag.Query{})
			for {
				_, err := c.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					wantErrs++
					continue
				}
				want++
			}
			v := r.Verifier()
			for i := range r.NumSpans() {
				found := v.Verify(i)
				got += found.Messages
				if found.Err != nil {
					errs++
				}
				entries, err := r.Index(i, nil)
				if (err == nil) != (found.IndexErr == nil) || err == nil && len(entries) > 0 && found.Last != entries[len(entries)-1].Time {
					t.Errorf("%s with a wrong byte at %d: chunk %d: %v, Index %v", name, at, i, found.IndexErr, err)
				}
			}
			if got != want || errs != wantErrs {
				t.Errorf("%s with a wrong byte at %d: %d messages and %d errors, a Cursor %d and %d", name, at, got, errs, want, wantErrs)
			}
		}
	}
}

// The checksum of an lz4 frame counts for a Verifier, as for stock. Who only reads compares the one of the
// chunk, which is of the same bytes.
func TestChecksumOfFrame(t *testing.T) {
	t.Parallel()
	bag := sampleBag(t, rosbag.CompressionLZ4)
	want, _ := readAll(t, bag, rosbag.Query{})
	chunk := recordsOf(t, bag, 5)[0]
	chunk.data[len(chunk.data)-1] ^= 1 // the bag's own bytes
	damaged := crc32.Checksum(chunk.data, crc32.MakeTable(crc32.Castagnoli))
	bag = setU32(bag, chunk.fields["crc32c"], damaged)
	if got, errs := readAll(t, bag, rosbag.Query{}); !slices.Equal(got, want) || len(errs) > 0 {
		t.Errorf("%d of %d messages, %v", len(got), len(want), errs)
	}
	r, err := openBag(bag)
	if err != nil {
		t.Fatal(err)
	}
	if found := r.Verifier().Verify(0); !errors.Is(found.Err, rosbag.ErrCorrupt) {
		t.Errorf("verified with the error %v", found.Err)
	}
}
