package codec

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/gorosbag/gorosbag/rosbag"
)

// TestSalvage unpacks whole and cut data, up to a limit and beyond.
func TestSalvage(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("some data, some more data; "), 40_000)
	n := int64(len(data))
	for _, comp := range []rosbag.Compression{rosbag.CompressionLZ4, rosbag.CompressionBZ2} {
		z, err := NewCompressor(comp)
		if err != nil {
			t.Fatal(err)
		}
		packed := z.Append(nil, data)
		for name, tt := range map[string]struct {
			stored []byte
			limit  int64
			got    int64
			want   error // with nil there is an error when got is less than all
		}{
			"whole":        {packed, n, n, nil},
			"over a limit": {packed, n - 1, 0, rosbag.ErrLimit},
			"cut":          {packed[:len(packed)-1], n, n, io.ErrUnexpectedEOF},
			"cut early":    {packed[:3], n, 0, io.ErrUnexpectedEOF},
			"other data":   {data, n, 0, nil},
		} {
			var d Salvager
			var memory []byte
			got, err := d.Unpack(comp, bytes.NewReader(tt.stored), int64(len(tt.stored)), tt.limit, &memory)
			if tt.want != nil && !errors.Is(err, tt.want) || tt.want == nil && (err == nil) != (tt.got == n) {
				t.Errorf("%s, %s: error %v", comp, name, err)
			}
			if !bytes.Equal(got, data[:tt.got]) {
				t.Errorf("%s, %s: %d bytes, want %d, or other ones", comp, name, len(got), tt.got)
			}
		}
	}
}
