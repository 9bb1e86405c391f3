package codec

import (
	"bytes"
	"testing"

	"github.com/gorosbag/gorosbag/rosbag"
)

// TestBZ2WithHoles unpacks a block of deep trees with holes: the error is that of damaged
// data.
func TestBZ2WithHoles(t *testing.T) {
	t.Parallel()
	var d Decompressor
	// Three words of 20 bits each: a decoder that looks at every path in the tree takes long.
	deep := []byte("BZh91AY&SY\x00\x00\x00\x00\x00\x00\x00@\x00@\x00 \x00h\x14P\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	if b, err := d.Unpack(rosbag.CompressionBZ2, deep, 1000, nil); err == nil {
		t.Errorf("%d bytes", len(b))
	}
	z, err := NewCompressor(rosbag.CompressionBZ2)
	if err != nil {
		t.Fatal(err)
	}
	want := []byte("sound data after damaged data")
	packed := z.Append(nil, want)
	if got, err := d.Unpack(rosbag.CompressionBZ2, packed, int64(len(want)), nil); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
}
