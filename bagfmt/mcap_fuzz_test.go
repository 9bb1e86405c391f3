package bagfmt_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// typedMCAP is typed for MCAP files.
func typedMCAP(err error) bool {
	var encoding *rosbag.EncodingError
	return typed(err) || errors.As(err, &encoding)
}

// FuzzMCAP reads what may be an MCAP file in all ways, and checks what must hold for any input.
func FuzzMCAP(f *testing.F) {
	messages := mcapMessages()
	for _, form := range mcapForms {
		b := mcapFile(f, form.options, messages)
		f.Add(b)
		f.Add(b[:len(b)*2/3])
		f.Add(flipped(b, len(b)/2, 4))
		f.Add(flipped(b, len(b)*9/10, 1))
	}
	f.Add([]byte("\x89MCAP0\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if !bytes.HasPrefix(b, []byte("\x89MCAP0\r\n")) {
			return
		}
		readMCAP(t, b)
	})
}

// readMCAP reads b with a Reader and a Scanner. It returns the messages of both, in the order of each,
// and how many errors they told that mean a loss.
func readMCAP(t *testing.T, b []byte) (read, scanned []msg, lostRead, lostScanned int) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if !typedMCAP(err) {
			t.Fatalf("untyped error %v", err)
		}
	}
	scanned, errs := scanWith(t, b, bagfmt.ScannerOptions{MaxChunkBytes: fuzzChunkBytes})
	for _, err := range errs {
		check(err)
	}
	lostScanned = len(lostOf(errs))
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{MaxChunkBytes: fuzzChunkBytes, CacheBytes: 1})
	if err != nil {
		check(err)
		return nil, scanned, 1, lostScanned
	}
	for _, err := range r.Info().Damage {
		check(err)
	}
	lost := lostOf(r.Info().Damage)
	for m, err := range rosbag.Messages(r, rosbag.Query{}) {
		if err != nil {
			check(err)
			if lost = append(lost, err); len(lost) > len(b) {
				t.Fatal("errors without end")
			}
			continue
		}
		if int(binary.LittleEndian.Uint32(m.Frame)) != len(m.Data()) {
			t.Fatalf("frame of %d bytes says %d", len(m.Data()), binary.LittleEndian.Uint32(m.Frame))
		}
		read = append(read, asMsg(m))
	}
	for i := range r.NumSpans() {
		if _, err := r.Index(i, nil); err != nil {
			check(err)
		}
		if _, err := r.ChunkHeader(i); err != nil {
			check(err)
		}
	}
	for _, found := range r.Latest(r.Info().End, nil) {
		if found.Err != nil {
			check(found.Err)
		}
	}
	return read, scanned, len(lostOf(lost)), lostScanned
}

// TestMCAPDamage flips bits and cuts files of every form: nothing panics, no message is wrong where
// checksums tell, and nothing is lost without a word.
func TestMCAPDamage(t *testing.T) {
	t.Parallel()
	messages := mcapMessages()
	want := wantMCAP(messages, ofROS1)
	for n, form := range mcapForms {
		t.Run(form.name, func(t *testing.T) {
			t.Parallel()
			b := mcapFile(t, form.options, messages)
			first := 8 + n%2 // forms have most records in common: where only every second byte is visited, each is in half of the forms
			for i, mask := range flips(b, first, len(b), 5, 1) {
				read, scanned, lost, lostScanned := readMCAP(t, flipped(b, i, mask))
				if !form.options.IncludeCRC || form.options.SkipStatistics { // then a record may become another one
					continue
				}
				if lost == 0 && !slices.Equal(byTime(read), want) { // a wrong time in an index may delay what follows

					t.Errorf("bit %#02x of byte %d: the reader tells nothing of it", mask, i)
				}
				if lostScanned == 0 && !slices.Equal(byTime(scanned), want) {
					t.Errorf("bit %#02x of byte %d: the scanner tells nothing of it", mask, i)
				}
			}
			for n := range cuts(b, 5) {
				if n < 8 {
					continue
				}
				read, scanned, _, _ := readMCAP(t, b[:n])
				for _, m := range append(read, scanned...) {
					if !slices.Contains(want, m) {
						t.Fatalf("cut at %d: message %v", n, m)
					}
				}
				if !slices.Equal(byTime(scanned), read) {
					t.Errorf("cut at %d: the reader has %d messages, the scanner %d", n, len(read), len(scanned))
				}
			}
		})
	}
}

// mcapRecord is a record outside chunks.
type mcapRecord struct {
	op byte
	at int
}

// mcapRecords lists the records of a sound file.
func mcapRecords(b []byte) (list []mcapRecord) {
	for at := 8; at < len(b)-8; {
		list = append(list, mcapRecord{b[at], at})
		at += 9 + int(binary.LittleEndian.Uint64(b[at+1:]))
	}
	return list
}

// TestMCAPCutBetween cuts files before each record: what may be missing is told, up to the end of the
// messages.
func TestMCAPCutBetween(t *testing.T) {
	t.Parallel()
	for _, form := range mcapForms {
		b := mcapFile(t, form.options, mcapMessages())
		ended := false
		for _, record := range mcapRecords(b) {
			_, _, lost, lostScanned := readMCAP(t, b[:record.at])
			if ended != (lost == 0) || ended != (lostScanned == 0) {
				t.Errorf("%s: cut before the record of kind %#02x at %d: reader and scanner tell %d and %d losses", form.name, record.op, record.at, lost, lostScanned)
			}
			ended = ended || record.op == byte(mcap.OpDataEnd)
		}
	}
}

// TestMCAPIndexLength reads a file with the wrong length of a message index: the chunk tells its messages.
func TestMCAPIndexLength(t *testing.T) {
	t.Parallel()
	messages := mcapMessages()
	want := wantMCAP(messages, ofROS1)
	for _, form := range mcapForms {
		b := mcapFile(t, form.options, messages)
		for _, record := range mcapRecords(b) {
			if !form.indexed || record.op != byte(mcap.OpMessageIndex) {
				continue
			}
			for i := 1; i < 9; i++ {
				read, _, lost, _ := readMCAP(t, flipped(b, record.at+i, 0x80))
				if lost > 0 || !slices.Equal(byTime(read), want) {
					t.Errorf("%s: byte %d of the length at %d: %d messages, want %d; %d losses", form.name, i, record.at, len(read), len(want), lost)
				}
			}
		}
	}
}

// TestMCAPHeader reads files with damage of the first record, which has no part in the messages.
func TestMCAPHeader(t *testing.T) {
	t.Parallel()
	messages := mcapMessages()
	want := wantMCAP(messages, ofROS1)
	for _, form := range mcapForms {
		b := mcapFile(t, form.options, messages)
		for _, at := range []int{8, 17, 8 + 9 + 4 + len("ros1")} { // the kind of the record, and the lengths of its fields
			bad := flipped(b, at, 0x80)
			read, scanned, _, lost := readMCAP(t, bad)
			if !slices.Equal(byTime(read), want) || !slices.Equal(byTime(scanned), want) || lost != 1 {
				t.Errorf("%s: byte %d: %d and %d messages, want %d; the scanner tells %d losses", form.name, at, len(read), len(scanned), len(want), lost)
			}
		}
	}
}
