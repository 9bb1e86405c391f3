package bagfmt_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// oldSeeds adds bags of all old versions, whole and cut.
func oldSeeds(f *testing.F) {
	f.Helper()
	for _, b := range smallOldBags() {
		f.Add(b)
		f.Add(b[:len(b)-5])
		f.Add(b[:len(b)*2/3])
	}
	for _, name := range oldBags(f) {
		f.Add(readFile(f, name))
	}
	for _, comp := range compressions {
		b := unindexed(f, sampleBag(f, comp))
		chunks := recordsOf(f, b, 5)
		f.Add(b)
		f.Add(setU32(b, chunks[1].off, 1<<31))
		f.Add(setU32(b, chunks[1].dataAt, 1<<31))
		f.Add(b[:chunks[2].off+100])
		f.Add(withoutIndexData(f, b))
	}
	f.Add([]byte("##MULTILOG##\n1\n/a\n*\n*\n"))
	f.Add([]byte("#\n1\n/a\n*\n*\n/a\n\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00"))
}

// FuzzOldScanner: any input ends, in messages and typed errors, and a prefix of it gives
// a prefix of its messages.
func FuzzOldScanner(f *testing.F) {
	oldSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := bagfmt.NewScanner(bytes.NewReader(b), bagfmt.ScannerOptions{})
		if err == nil && s.Version() == "2.0" {
			return // FuzzScanner
		}
		msgs, _ := fuzzScan(t, b)
		checkFuzzAllocs(t, b, func() { fuzzScan(t, b) })
		half := len(b) / 2
		if got, errs := fuzzScan(t, b[:half:half]); len(got) > len(msgs) || !slices.Equal(got, msgs[:len(got)]) {
			t.Fatalf("first half gives %d messages and %v, not the first of all %d", len(got), errs, len(msgs))
		}
	})
}

// FuzzScanningReader: opening any input by a scan and reading it ends, in messages and
// typed errors. Of an old version it finds what the Scanner finds; of 2.0 it finds the
// messages that it counts.
func FuzzScanningReader(f *testing.F) {
	oldSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{MaxChunkBytes: fuzzChunkBytes, CacheBytes: fuzzChunkBytes})
		if err != nil {
			if !typed(err) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		for _, err := range r.Info().Damage {
			if !typed(err) {
				t.Fatalf("untyped damage %v", err)
			}
		}
		read, errs := fuzzRead(t, r, len(b))
		if r.Info().Version[0] == '2' {
			if uint64(len(read)) < r.Info().Messages && errs == nil {
				t.Fatalf("%d of %d messages without an error", len(read), r.Info().Messages)
			}
			return
		}
		if uint64(len(read)) != r.Info().Messages || errs != nil {
			t.Fatalf("%d of %d messages, %v", len(read), r.Info().Messages, errs)
		}
		scanned, _ := fuzzScan(t, b)
		if !slices.Equal(byTime(scanned), read) {
			t.Fatalf("%d messages, the scanner finds %d", len(read), len(scanned))
		}
	})
}

// fuzzRead reads all that r has in all ways.
func fuzzRead(t *testing.T, r *bagfmt.Reader, size int) (msgs []msg, errs []error) {
	t.Helper()
	c := r.Cursor(rosbag.Query{})
	for {
		m, err := c.Next()
		switch {
		case errors.Is(err, io.EOF):
			for _, c := range r.Connections() {
				if _, err := lastOf(r, c.ID, r.Info().End); err != nil && !typed(err) {
					t.Fatalf("Latest: untyped error %v", err)
				}
			}
			for i := range r.NumSpans() {
				_, headerErr := r.ChunkHeader(i)
				_, indexErr := r.Index(i, nil)
				if headerErr != nil && !typed(headerErr) || indexErr != nil && !typed(indexErr) {
					t.Fatalf("segment %d: untyped error %v, %v", i, headerErr, indexErr)
				}
			}
			return msgs, errs
		case err != nil && !typed(err):
			t.Fatalf("untyped error %v", err)
		case err != nil:
			if errs = append(errs, err); len(errs) > size {
				t.Fatal("errors without end")
			}
		default:
			if int(binary.LittleEndian.Uint32(m.Frame)) != len(m.Data()) {
				t.Fatalf("frame of %d bytes says %d", len(m.Data()), binary.LittleEndian.Uint32(m.Frame))
			}
			msgs = append(msgs, asMsg(m))
		}
	}
}
