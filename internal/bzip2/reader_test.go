package bzip2

import (
	"bytes"
	"errors"
	"io"
	"testing"

	dsnet "github.com/dsnet/compress/bzip2"
)

// TestReaderReset uses one Reader for sound streams behind all that may be left of others.
func TestReaderReset(t *testing.T) {
	t.Parallel()
	var e Encoder
	long := e.Append(nil, bytes.Repeat([]byte("a longer stream, "), 1000))
	want := []byte("sound data behind other data")
	sound := e.Append(nil, want)
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
		"trees with holes":   {treeBlock(0, [3]int{20, 20, 20}), 1 << 20, false},
		"something else":     {[]byte("something else"), 1 << 20, false},
		"one with an end of": {append(bytes.Clone(sound), "another"...), 1 << 20, false},
	} {
		if err := r.Reset(before.data); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, io.LimitReader(&r, before.bytes)); (err == nil) != before.sound {
			t.Errorf("%s: error %v", name, err)
		}
		if err := r.Reset(sound); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(&r); err != nil || !bytes.Equal(got, want) {
			t.Errorf("behind %s: %q, error %v", name, got, err)
		}
	}
}

// TestReaderAllocs: a Reader keeps its memory from one sound stream to the next.
func TestReaderAllocs(t *testing.T) {
	var e Encoder
	data := e.Append(nil, bytes.Repeat([]byte("twelve bytes"), 2000))
	var r Reader
	buf := make([]byte, 24_000)
	read := func() {
		if err := r.Reset(data); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(&r, buf); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Read(buf[:1]); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	read()
	if n := testing.AllocsPerRun(10, read); n > 20 { // of the library, for each stream
		t.Errorf("%v allocations for a stream", n)
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

// FuzzReader: any data ends, as the library has it wherever that can be asked safely.
func FuzzReader(f *testing.F) {
	var e Encoder
	for _, data := range inputs() {
		if len(data) < 10_000 {
			packed := e.Append(nil, data)
			f.Add(packed)
			f.Add(packed[:len(packed)/2])
		}
	}
	f.Add(treeBlock(0, [3]int{20, 20, 20}))
	f.Add(treeBlock(3, [3]int{1, 2, 2}))
	const most = 1 << 20
	var r Reader
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := r.Reset(data); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(io.LimitReader(&r, most))
		if deepHoles(data) {
			return
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

// benchmarkData is 768 kB of which about half are noise.
func benchmarkData() []byte {
	data := play(bytes.Repeat([]byte{7, 40, 0, 40, 5, 20, 3}, 1000))
	return bytes.Repeat(data, 768<<10/len(data)+1)[:768<<10]
}

func BenchmarkAppend(b *testing.B) {
	data := benchmarkData()
	var e Encoder
	out := e.Append(nil, data)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		out = e.Append(out[:0], data)
	}
	b.ReportMetric(float64(len(data))/float64(len(out)), "ratio")
}

func BenchmarkReader(b *testing.B) {
	data := benchmarkData()
	packed := new(Encoder).Append(nil, data)
	var r Reader
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Reset(packed); err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, &r); err != nil {
			b.Fatal(err)
		}
	}
}
