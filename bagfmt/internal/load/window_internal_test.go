package load

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// TestWindow: whatever was read before, the bytes and errors are those of the file, and the end of the file is where it is.
func TestWindow(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 8))
	file := make([]byte, 3*windowBytes+100)
	for i := range file {
		file[i] = byte(rnd.Uint32())
	}
	const broken = 2*windowBytes + windowBytes/2 // 10 bytes that cannot be read
	unreadable := errors.New("unreadable")
	from := readerAt(func(b []byte, off int64) (int, error) {
		if off < broken+10 && off+int64(len(b)) > broken {
			return copy(b, file[off:max(off, broken)]), unreadable
		}
		return bytes.NewReader(file).ReadAt(b, off)
	})
	w := &window{r: from}
	read := func(off, n, want int) {
		t.Helper()
		w.want = want
		got, exact := make([]byte, n), make([]byte, n)
		k, err := w.ReadAt(got, int64(off))
		kept, wantErr := from(exact, int64(off))
		if !bytes.Equal(got[:k], exact[:kept]) || !errors.Is(err, wantErr) {
			t.Fatalf("%d bytes at %d: got %d bytes and %v, want %d and %v", n, off, k, err, kept, wantErr)
		}
		if cap(w.buf) > windowBytes {
			t.Fatalf("%d bytes of memory after %d bytes at %d", cap(w.buf), n, off)
		}
	}
	for _, c := range [][3]int{
		{1000, 10, 4096},
		{1000 + 4096 - 10, 10, 0},
		{1000 + 4096 - 10, 11, 0},
		{999, 1, 0}, // within the window, up to its end, across it, before it
		{windowBytes, windowBytes, 0},
		{broken - 5, 5, 4096},
		{broken - 5, 6, 4096},
		{broken + 10, 5, 0},
		{len(file) - 5, 5, 4096},
		{len(file) - 5, 6, 0},
		{len(file), 1, 0},
		{len(file) + 9, 1, 0},
		{0, windowBytes, 0},
	} {
		read(c[0], c[1], c[2])
	}
	for _, n := range []int{windowBytes + 1, 2*windowBytes + 100} { // more than a window has
		read(1000, n, 4096)
		read(len(file)-n, n, 4096)
	}
	for range 5000 {
		read(rnd.IntN(len(file)+20), 1+rnd.IntN(4096), rnd.IntN(4096))
	}
	for off := 0; off < len(file); { // as chunks that follow each other
		n := 1 + rnd.IntN(2000)
		read(off, n, n+rnd.IntN(2000))
		off += n
	}
}

// TestWindowReadsAhead: what lies within the window is not read again, and the window grows only where chunks are read in the
// order of the file.
func TestWindowReadsAhead(t *testing.T) {
	t.Parallel()
	reads, bytesRead := 0, 0
	file := bytes.NewReader(make([]byte, 10*windowBytes))
	w := &window{want: 512, r: readerAt(func(b []byte, off int64) (int, error) {
		reads++
		bytesRead += len(b)
		return file.ReadAt(b, off)
	})}
	read := func(off int64) {
		t.Helper()
		if n, err := w.ReadAt(make([]byte, 100), off); n < 100 || err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(n, err)
		}
	}
	for off := int64(10*windowBytes - 512); off >= 0; off -= 512 {
		read(off)
		read(off + 400)
	}
	if bytesRead != 10*windowBytes {
		t.Errorf("%d bytes read from back to front, want each of %d once", bytesRead, 10*windowBytes)
	}
	reads = 0
	for off := int64(0); off < 10*windowBytes; off += 512 {
		read(off)
	}
	if reads > 20 {
		t.Errorf("%d reads for ten windows", reads)
	}
}

type readerAt func(b []byte, off int64) (int, error)

func (r readerAt) ReadAt(b []byte, off int64) (int, error) { return r(b, off) }
