package packed_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/gorosbag/gorosbag/internal/ros2/packed"
)

func encode(t *testing.T, data []byte) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	return e.EncodeAll(data, nil)
}

func TestDecoder(t *testing.T) { // not parallel: it measures the heap
	d := packed.Decoder{MaxBytes: 800 << 20}
	defer d.Close()
	for _, text := range []string{"longer than the next", "short"} {
		b := encode(t, []byte(text))
		out, err := d.Unpack(b)
		if err != nil || string(out) != text || !packed.IsMessage(b) {
			t.Errorf("%q, %v", out, err)
		}
	}
	if packed.IsMessage([]byte("\x00\x01\x00\x00")) || packed.IsMessage(nil) {
		t.Error("a message of CDR counts as packed")
	}
	// A frame with a window of 1 MiB that claims 700 MiB, and an empty block.
	claim := []byte("\x28\xb5\x2f\xfd\x80\x50\x00\x00\xc0\x2b\x01\x00\x00")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := d.Unpack(claim)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 1<<20 {
		t.Errorf("13 bytes that claim 700 MiB: %v, and %d bytes of memory", err, took)
	}
	d = packed.Decoder{MaxBytes: 1000}
	defer d.Close()
	if _, err := d.Unpack(encode(t, make([]byte, 1001))); err == nil {
		t.Error("a message above the limit is unpacked")
	}
}

// TestFile: what is unpacked is for its user alone, and goes away.
func TestFile(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	path := filepath.Join(t.TempDir(), "x.db3.zstd")
	want := bytes.Repeat([]byte("content "), 1000)
	if err := os.WriteFile(path, encode(t, want), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := packed.Unpack(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(f.Name())
	if st, statErr := f.Stat(); err != nil || !bytes.Equal(got, want) || statErr != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%d bytes, %v, %v", len(got), err, st.Mode())
	}
	if !strings.HasPrefix(f.Name(), temporary) {
		t.Errorf("it is %s", f.Name())
	}
	packed.RemoveAll()
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
