package load

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// TestWindow: whatever was read before, the bytes are those of the file, and the end of the file is
// where it is.
func TestWindow(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 8))
	file := make([]byte, 3*windowBytes+100)
	for i := range file {
		file[i] = byte(rnd.Uint32())
	}
	w := &window{r: bytes.NewReader(file)}
	read := func(off, n int) {
		t.Helper()
		got, want := make([]byte, n), file[min(off, len(file)):min(off+n, len(file))]
		k, err := w.ReadAt(got, int64(off))
		if !bytes.Equal(got[:k], want) {
			t.Fatalf("%d bytes at %d: got %d bytes, or others than the %d of the file", n, off, k, len(want))
		}
		if short := len(want) < n; errors.Is(err, io.EOF) != short || !short && err != nil {
			t.Fatalf("%d bytes at %d, of which there are %d: %v", n, off, len(want), err)
		}
	}
	for _, c := range [][2]int{
		{1000, 10}, {1000 + windowBytes - 10, 10}, {1000 + windowBytes - 10, 11}, {999, 1}, // within the window, up to its end, across it, before it
		{2 * windowBytes, windowBytes}, {len(file) - 5, 5}, {len(file) - 5, 6}, {len(file), 1}, {len(file) + 9, 1}, {0, windowBytes},
	} {
		read(c[0], c[1])
	}
	for range 5000 {
		read(rnd.IntN(len(file)+20), 1+rnd.IntN(4096))
	}
}

// TestWindowReadsAhead: what lies within the window is not read again.
func TestWindowReadsAhead(t *testing.T) {
	t.Parallel()
	reads := 0
	file := bytes.NewReader(make([]byte, 10*windowBytes))
	w := &window{r: readerAt(func(b []byte, off int64) (int, error) {
		reads++
		return file.ReadAt(b, off)
	})}
	for off := int64(0); off < 2*windowBytes; off += 512 {
		if _, err := w.ReadAt(make([]byte, 512), off); err != nil {
			t.Fatal(err)
		}
	}
	if reads != 2 {
		t.Errorf("%d reads for two windows", reads)
	}
}

type readerAt func(b []byte, off int64) (int, error)

func (r readerAt) ReadAt(b []byte, off int64) (int, error) { return r(b, off) }
