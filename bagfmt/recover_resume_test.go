package bagfmt_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/rosbag"
)

// TestRecoverResumes checks that reading continues at the next message of the index after a record that is damaged, in a chunk
// without a checksum: also if the chunk has to wait for a connection, and if headers have another order of fields.
func TestRecoverResumes(t *testing.T) {
	t.Parallel()
	conns, msgs := sample(12)
	full := chunked(t, rosbag.CompressionNone, conns, msgs, len(msgs))
	full = bytes.Replace(full, []byte("crc32c="), []byte("crc32x="), 1)
	chunk := recordsOf(t, full, 5)[0]
	for name, odd := range map[string]bool{"headers as C++ writes them": false, "headers in another order": true} {
		b := slices.Clone(full)
		var headers [][]byte // of the messages
		for data := b[chunk.dataAt+4:][:len(chunk.data)]; len(data) > 0; {
			n := binary.LittleEndian.Uint32(data)
			header := data[4 : 4+n]
			if bytes.Contains(header, []byte("time=")) {
				headers = append(headers, header)
				if odd { // the first field becomes the last one
					k := 4 + binary.LittleEndian.Uint32(header)
					copy(header, slices.Concat(header[k:], header[:k]))
				}
			}
			data = data[4+n:]
			data = data[4+binary.LittleEndian.Uint32(data):]
		}
		if len(headers) != len(msgs) {
			t.Fatalf("%d messages, want %d", len(headers), len(msgs))
		}
		at := bytes.Index(headers[1], []byte("time="))
		copy(headers[1][at:], "xxxx")
		last := headers[len(headers)-1]
		last[bytes.Index(last, []byte("conn="))+5] = 99 // a connection that is not there
		out, rep, err := recoverBag(t, b)
		if err != nil || rep.Messages != uint64(len(msgs)-2) || rep.Dropped != 2 || len(soundBag(t, out)) != len(msgs)-2 {
			t.Errorf("%s: %+v, %v", name, rep, err)
		}
	}
}
