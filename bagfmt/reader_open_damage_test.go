package bagfmt_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestScanTruncatedEverywhere cuts bags at each byte: a Reader finds what a Scanner
// finds, and nothing else.
func TestScanTruncatedEverywhere(t *testing.T) {
	testkit.SkipInRace(t, "one goroutine damages a bag at place after place")
	t.Parallel()
	for _, comp := range compressions {
		t.Run(string(comp), func(t *testing.T) {
			t.Parallel()
			full := sampleBag(t, comp)
			want, _ := scanAll(t, full)
			for i := range cuts(full, 1) {
				cut := full[:i:i]
				scanned, _ := scanAll(t, cut)
				got, errs := readAny(t, cut, rosbag.Query{})
				if !slices.Equal(byTime(want[:len(scanned)]), got) {
					t.Fatalf("cut at %d: %d messages, the scanner has %d", i, len(got), len(scanned))
				}
				for _, err := range errs {
					if !typed(err) {
						t.Fatalf("cut at %d: untyped %v", i, err)
					}
				}
				if len(errs) == 0 || len(errs) > 3 {
					t.Fatalf("cut at %d: %v", i, errs)
				}
			}
		})
	}
}

// TestScanBitFlips flips bits of bags without an index section: a wrong or missing
// message must not come without an error.
func TestScanBitFlips(t *testing.T) {
	testkit.SkipInRace(t, "one goroutine damages a bag at place after place")
	t.Parallel()
	for _, comp := range compressions {
		t.Run(string(comp), func(t *testing.T) {
			t.Parallel()
			full := sampleBag(t, comp)
			section := recordsOf(t, full, 7)[0].off
			full = unindexed(t, full)[:section:section]
			want, _ := scanAll(t, full)
			known := make(map[msg]int)
			for _, m := range want {
				known[m]++
			}
			affordable := 2
			if comp == rosbag.CompressionLZ4 {
				affordable = 8
			}
			for i, mask := range flips(full, 0, len(full), 1, affordable) {
				got, errs := readAny(t, flipped(full, i, mask), rosbag.Query{})
				checkFlip(t, "reader", i, known, len(want), got, faults(errs))
			}
		})
	}
}

// TestScanGoesOn damages one chunk of a bag without an index section: the others are
// read, and there is an error with the place of that one.
func TestScanGoesOn(t *testing.T) {
	t.Parallel()
	for _, comp := range compressions {
		full := unindexed(t, sampleBag(t, comp))
		chunks := recordsOf(t, full, 5)
		in := countMessages(t, full, chunks[1])
		tests := map[string]struct {
			bag  []byte
			lost int
		}{
			"header length":   {setU32(full, chunks[1].off, 1<<31), in},
			"header length 0": {setU32(full, chunks[1].off, 0), in},
			"field length":    {setU32(full, chunks[1].off+4, 1<<31), in},
			"op":              {setOp(full, chunks[1], 99), in},
			"op of index":     {setOp(full, chunks[1], 4), in},
			"data":            {replace(full, chunks[1].dataAt+4+len(chunks[1].data)/2, "\xff\x00\xff\x00\xff"), in},
			"data length":     {setU32(full, chunks[1].dataAt, 1<<31), in},
			"data length - 1": {setU32(full, chunks[1].dataAt, uint32(len(chunks[1].data)-1)), in},
			"compression":     {replace(full, chunks[1].fields["compression"], "zip"), in},
			"zeros":           {slices.Concat(full[:chunks[1].off], make([]byte, 100), full[chunks[1].off+100:]), in},
			"cut out":         {slices.Concat(full[:chunks[1].off+3], full[chunks[2].off:]), in},
		}
		for name, tc := range tests {
			t.Run(string(comp)+"/"+name, func(t *testing.T) {
				t.Parallel()
				got, errs := readAny(t, tc.bag, rosbag.Query{})
				errs = faults(errs)
				// Records of an uncompressed chunk can be read without the chunk.
				salvaged := comp == rosbag.CompressionNone && len(got) == 30
				if len(got) != 30-tc.lost && !salvaged {
					t.Errorf("%d messages, want %d", len(got), 30-tc.lost)
				}
				if len(errs) == 0 || len(errs) > 3 {
					t.Fatalf("errors %v", errs)
				}
				var bad *rosbag.CorruptError
				if !errors.As(errs[0], &bad) || bad.Offset < int64(chunks[1].off) || bad.Offset > int64(chunks[2].off) {
					t.Errorf("damage in the chunk at %d: %v", chunks[1].off, errs)
				}
			})
		}
	}
}

// failingFile cannot be read after an offset.
type failingFile struct {
	*bytes.Reader
	from int64
}

var errBroken = errors.New("broken")

func (f failingFile) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.from {
		return 0, errBroken
	}
	return f.Reader.ReadAt(p, off)
}

// TestUnknownConnectionsInOrder: of one chunk, unknown connections are reported by ascending id.
func TestUnknownConnectionsInOrder(t *testing.T) {
	t.Parallel()
	var records chunk.Records
	var b chunk.Builder
	var sealed *chunk.Sealed
	for range 2 { // the second chunk has no connection records
		b.Reset(&records)
		for id := range rosbag.ConnID(20) {
			b.AppendMessage(&rosbag.Connection{ID: id, Topic: fmt.Sprintf("/t%d", id)}, rosbag.Time{Sec: 1}, nil)
		}
		var err error
		if sealed, err = b.Seal(nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	bag := bagOf(t, sealed)
	bag = unindexed(t, bag)[:recordsOf(t, bag, 7)[0].off]
	r, err := openAny(bag)
	if err != nil {
		t.Fatal(err)
	}
	next := 0
	for _, err := range r.Info().Damage {
		if strings.Contains(err.Error(), "unknown connection") {
			if want := fmt.Sprintf("1 messages of unknown connection %d", next); !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
			next++
		}
	}
	if next != 20 {
		t.Errorf("%d connections are reported: %v", next, r.Info().Damage)
	}
}

// TestScanReadError has a file that cannot be read: that is no damage.
func TestScanReadError(t *testing.T) {
	t.Parallel()
	bags := map[string][]byte{"2.0": unindexed(t, sampleBag(t, rosbag.CompressionNone)), "1.1": readFile(t, "testdata/old/v11_rosrecord.bag")}
	for name, b := range bags {
		for _, from := range []int64{0, 5000} {
			_, err := bagfmt.NewReader(failingFile{bytes.NewReader(b), from}, int64(len(b)), bagfmt.ReaderOptions{})
			if !errors.Is(err, errBroken) || errors.Is(err, io.EOF) {
				t.Errorf("%s: from %d: %v", name, from, err)
			}
		}
	}
}

// TestDamageIsBounded opens a bag with more faults than anybody wants to read.
func TestDamageIsBounded(t *testing.T) {
	t.Parallel()
	b := []byte("#ROSLOG V1.0\n0001\n/known\n*\n*\n")
	for i := range 3000 {
		b = append(b, fmt.Sprintf("/t%d\n%s", i, u32s(0, 0, 0))...)
	}
	b = append(b, "/known\n"+u32s(1, 2, 0)...)
	r, err := openAny(b)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Info().Damage); n != 1000 || r.Info().Messages != 1 {
		t.Errorf("%d errors, %d messages", n, r.Info().Messages)
	}
}

// TestScanMemory: opening a bag by a scan costs no more memory than the bag has bytes,
// whatever its lengths say.
func TestScanMemory(t *testing.T) { // not parallel: it looks at what all goroutines allocate
	if testkit.Race {
		t.Skip("the race detector allocates, too")
	}
	full := unindexed(t, sampleBag(t, rosbag.CompressionNone))
	bags := map[string][]byte{"sound": full}
	for _, r := range records(t, full) {
		for _, at := range []int{r.off, r.off + 4, r.dataAt, r.dataAt + 4, r.fields["size"], r.fields["count"]} {
			for _, v := range []uint32{0, 1, 1 << 20, 1<<31 - 1, 1<<32 - 1} {
				if at > 0 {
					bags[fmt.Sprintf("%d at %d", v, at)] = setU32(full, at, v)
				}
			}
		}
	}
	// As many connections and index data records as fit a file.
	many := slices.Clone(full[:4117])
	for i := range uint32(20_000) {
		many = append(many, rec(fields.List{{Key: "op", Value: "\x04"}, {Key: "ver", Value: u32s(1)}, {Key: "conn", Value: u32s(i)}, {Key: "count", Value: u32s(0)}}, nil)...)
	}
	bags["index data"] = many
	// As many fields as fit a file.
	var header, fielded []byte
	for range 270 {
		header = append(header, u32s(2)+"a="...)
	}
	for i := range uint32(1000) {
		fielded = append(fielded, rec(fields.List{{Key: "op", Value: "\x07"}, {Key: "conn", Value: u32s(i)}, {Key: "topic", Value: ""}}, header)...)
	}
	bags["fields"] = slices.Concat(full[:4117], fielded)
	chunk := recordsOf(t, full, 5)[0]
	torn := setU32(full[:chunk.dataAt+4], chunk.dataAt, 1<<31)
	bags["torn chunks"] = append(slices.Clone(full[:4117]), bytes.Repeat(torn[chunk.off:], 5000)...)
	for name, b := range bags {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := openAny(b)
		runtime.ReadMemStats(&after)
		if err != nil && !typed(err) {
			t.Errorf("%s: untyped %v", name, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 8*uint64(len(b))+1<<20 {
			t.Errorf("%s: %d bytes allocated for a bag of %d", name, got, len(b))
		}
	}
}
