package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// message returns n bytes that no other message begins with.
func message(i, n int) []byte {
	return bytes.Repeat([]byte{byte(i), byte(i >> 8), 0x5a}, n/3+1)[:n]
}

// TestArena: messages outside chunks, of which the memory holds many, some or one, stay as they were
// read, whatever is read after them, and also when their owner appends to them.
func TestArena(t *testing.T) {
	t.Parallel()
	var sizes []int
	for i := range 140 {
		sizes = append(sizes, []int{0, 1, 1000, 64<<10 - 4, 64 << 10, 64<<10 + 1, 300 << 10}[i%7])
	}
	var all bytes.Buffer
	for i, n := range sizes {
		all.Write(message(i, n))
	}
	s := wire.NewStream(&all, 100, 4096)
	var arena wire.Arena
	var frames [][]byte
	at := int64(100)
	for i, n := range sizes {
		frame, err := arena.Frame(s, int64(n), at)
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		if at += int64(n); s.Off != at {
			t.Fatalf("message %d: the stream is at %d, want %d", i, s.Off, at)
		}
		frames = append(frames, frame)
		_ = append(frame, "what comes behind"...)
	}
	for i, n := range sizes {
		if want := append(binary.LittleEndian.AppendUint32(nil, uint32(n)), message(i, n)...); !bytes.Equal(frames[i], want) {
			t.Errorf("message %d of %d bytes has %d others", i, n, len(frames[i]))
		}
	}
}

// TestArenaOfATornFile: a message that the file does not hold in full is an error that says how much
// there is, and another failure is not taken for the end of the file.
func TestArenaOfATornFile(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{100, 300 << 10} {
		var arena wire.Arena
		s := wire.NewStream(bytes.NewReader(make([]byte, n-1)), 7, 4096)
		_, err := arena.Frame(s, n, 5)
		if want := wire.Torn(5, rosbag.OpMessage, "data", n-1, n); err == nil || err.Error() != want.Error() || s.Off != 7+n-1 {
			t.Errorf("a message of %d bytes without its last: %v at %d, want %v", n, err, s.Off, want)
		}
		failed := errors.New("disk")
		s = wire.NewStream(io.MultiReader(bytes.NewReader(make([]byte, n-1)), iotest.ErrReader(failed)), 7, 4096)
		if _, err := arena.Frame(s, n, 5); !errors.Is(err, failed) || wire.IsEnd(err) {
			t.Errorf("a message of %d bytes that cannot be read: %v", n, err)
		}
	}
}
