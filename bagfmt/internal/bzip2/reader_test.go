package bzip2

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	dsnet "github.com/dsnet/compress/bzip2"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/test/kinds"
)

// TestReaderReset uses one Reader for sound streams after streams that may leave something.
func TestReaderReset(t *testing.T) {
	t.Parallel()
	long := pack(t, bytes.Repeat([]byte("a longer stream, "), 1000), 9)
	want := []byte("sound data after other data")
	sound := pack(t, want, 9)
	flipped := bytes.Clone(sound)
	flipped[12] ^= 1 // the checksum of the block
	var r Reader
	for name, before := range map[string]struct {
		data  []byte
		bytes int64 // that are read of it
		sound bool
	}{
		"a sound stream":     {long, 1 << 20, true},
		"one not read":       {long, 0, true},
		"one half read":      {long, 5000, true},
		"a cut one":          {long[:len(long)/2], 1 << 20, false},
		"nothing":            {nil, 1 << 20, false},
		"a wrong checksum":   {flipped, 1 << 20, false},
		"trees with holes":   {crafted{lengths: []int{20, 20, 20}}.bytes(), 1 << 20, false},
		"something else":     {[]byte("something else"), 1 << 20, false},
		"one with an end of": {append(bytes.Clone(sound), "another"...), 1 << 20, false},
	} {
		r.Reset(before.data)
		if _, err := io.Copy(io.Discard, io.LimitReader(&r, before.bytes)); (err == nil) != before.sound {
			t.Errorf("%s: error %v", name, err)
		}
		r.Reset(sound)
		if got, err := io.ReadAll(&r); err != nil || !bytes.Equal(got, want) {
			t.Errorf("after %s: %q, error %v", name, got, err)
		}
	}
}

// TestReaderAllocs: a Reader keeps its memory from one sound stream to the next.
func TestReaderAllocs(t *testing.T) {
	data := pack(t, bytes.Repeat([]byte("twelve bytes"), 2000), 9)
	var r Reader
	buf := make([]byte, 24_000)
	read := func() {
		r.Reset(data)
		if _, err := io.ReadFull(&r, buf); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Read(buf[:1]); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	read()
	if n := testing.AllocsPerRun(10, read); n != 0 {
		t.Errorf("%v allocations for a stream, want none", n)
	}
}

func TestIsStream(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]bool{"BZh9 and more": true, "BZh": true, "BZ": false, "": false, "xBZh9": false} {
		if got := IsStream([]byte(data)); got != want {
			t.Errorf("%q: %v, want %v", data, got, want)
		}
	}
}

// TestReaderStreams reads what different writers made of different data, also streams
// one after the other and empty ones, in pieces of different sizes.
func TestReaderStreams(t *testing.T) {
	t.Parallel()
	empty := pack(t, nil, 9)
	list := []stream{{name: "three empty streams", packed: bytes.Repeat(empty, 3)}}
	size := 110_000 // two blocks
	if testkit.Full() {
		size = 2 << 20
	}
	for _, kind := range kinds.All {
		want := kind.Make(size)
		blocks := pack(t, want, 1)
		list = append(list,
			stream{kind.Name, pack(t, want, 9), want},
			stream{kind.Name + ", many blocks", blocks, want},
			stream{kind.Name + ", twice, an empty one between and after", slices.Concat(blocks, empty, blocks, empty), slices.Concat(want, want)})
	}
	checkUnpacks(t, list...)
	var r Reader
	for _, s := range list {
		for _, size := range []int{1, 7, roomForOneRun - 1, roomForOneRun, roomForOneRun + 1, 5000} {
			r.Reset(s.packed)
			got := make([]byte, 0, len(s.want)+1)
			var err error
			for err == nil {
				var n int
				n, err = r.Read(got[len(got):min(cap(got), len(got)+size)])
				got = got[:len(got)+n]
			}
			if !errors.Is(err, io.EOF) || !bytes.Equal(got, s.want) {
				t.Errorf("%s by %d bytes: got %d bytes, error %v, want %d", s.name, size, len(got), err, len(s.want))
			}
		}
	}
}

// TestOrigins inverts blocks from every origin: all but one begin within the block, and
// where blocks repeat themselves the links go around.
func TestOrigins(t *testing.T) {
	t.Parallel()
	var v inverter
	for name, column := range map[string][]byte{
		"one byte": []byte("b"), "one cycle": []byte("nnbaaa"), "many cycles": []byte("abababab"), "three": []byte("aabbcc"),
		"many segments": bytes.Repeat([]byte("some text, more text"), 200), "cycles of one": bytes.Repeat([]byte("z"), 3*segmentBytes+1),
	} {
		var counts [256]uint32
		for _, b := range column {
			counts[b]++
		}
		sorted := slices.Clone(column)
		slices.Sort(sorted)
		var places [256][]int // of each byte in column
		for i, b := range column {
			places[b] = append(places[b], i)
		}
		for origin := 0; origin < len(column); origin += 1 + len(column)/500 {
			want, at := make([]byte, 0, len(column)), origin
			for range column { // the k-th of a byte in the sorted column is the k-th in column
				b := sorted[at]
				want = append(want, b)
				at = places[b][at-bytes.IndexByte(sorted, b)]
			}
			got := slices.Clone(column)
			if v.invert(got, &counts, origin); !bytes.Equal(got, want) {
				t.Errorf("%s from %d: %q, want %q", name, origin, got, want)
			}
		}
	}
}

// FuzzReader: any data ends, and is unpacked as the library does.
func FuzzReader(f *testing.F) {
	for _, data := range inputs() {
		if len(data) < 10_000 {
			packed := pack(f, data, 9)
			f.Add(packed)
			f.Add(packed[:len(packed)/2])
			f.Add(slices.Concat(packed, pack(f, nil, 9), packed))
		}
	}
	f.Add(sound.bytes())
	f.Add(crafted{lengths: []int{2, 2, 2}, codes: "0010"}.bytes())
	f.Add(crafted{lengths: []int{2, 1, 1}, codes: "01", data: "aa"}.bytes())
	f.Add(crafted{codes: "10011", data: "aaaa"}.bytes())
	const most = 1 << 20
	var r Reader
	f.Fuzz(func(t *testing.T, data []byte) {
		r.Reset(data)
		got, err := io.ReadAll(io.LimitReader(&r, most))
		if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("untyped error %v", err)
		}
		z, zerr := dsnet.NewReader(bytes.NewReader(data), nil)
		if zerr != nil {
			t.Fatal(zerr)
		}
		want, werr := io.ReadAll(io.LimitReader(z, most))
		if !bytes.Equal(got, want) || (err == nil) != (werr == nil) {
			t.Fatalf("%d bytes, error %v, want %d bytes, error %v", len(got), err, len(want), werr)
		}
	})
}

// BenchmarkReader reads chunks of the kinds of data, one of them a block and one several.
func BenchmarkReader(b *testing.B) {
	for _, size := range []int{768 << 10, 4 << 20} {
		for _, kind := range kinds.All {
			b.Run(fmt.Sprintf("kind=%s/chunk=%dKiB", kind.Name, size>>10), func(b *testing.B) {
				packed := pack(b, kind.Make(size), 9)
				out := make([]byte, size)
				var r Reader
				var library dsnet.Reader
				read := func(b *testing.B, r io.Reader) {
					b.Helper()
					if _, err := io.ReadFull(r, out); err != nil {
						b.Fatal(err)
					}
				}
				b.Run("by=ours", func(b *testing.B) {
					b.SetBytes(int64(size))
					b.ReportAllocs()
					for b.Loop() {
						r.Reset(packed)
						read(b, &r)
					}
				})
				b.Run("by=dsnet", func(b *testing.B) {
					b.SetBytes(int64(size))
					for b.Loop() {
						library = dsnet.Reader{} // a Reset keeps what was not read
						if err := library.Reset(bytes.NewReader(packed)); err != nil {
							b.Fatal(err)
						}
						read(b, &library)
					}
				})
				b.Run("by=standard", func(b *testing.B) {
					b.SetBytes(int64(size))
					for b.Loop() {
						read(b, stdbzip2.NewReader(bytes.NewReader(packed)))
					}
				})
			})
		}
	}
}
