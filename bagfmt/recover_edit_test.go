package bagfmt_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/recovery"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestRecoverEdit checks that messages of some connections change, that chunks without them are copied as they are stored,
// and that the order of the file, times and ids stay.
func TestRecoverEdit(t *testing.T) {
	t.Parallel()
	for _, compression := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4, rosbag.CompressionBZ2} {
		t.Run(string(compression), func(t *testing.T) {
			t.Parallel()
			old := &rosbag.Connection{ID: 3, Topic: "/old", Header: header("p/Old", rosbag.Field{Key: "callerid", Value: "/a"}, rosbag.Field{Key: "latching", Value: "1"})}
			other := &rosbag.Connection{ID: 7, Topic: "/other", Header: header("p/Other")}
			var msgs []msg
			var f memFile
			w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{Compression: compression, ChunkBytes: 200})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []*rosbag.Connection{old, other} {
				if err := w.Adopt(c); err != nil {
					t.Fatal(err)
				}
			}
			for n := range 60 {
				c := other
				if n/20 == 1 {
					c = old
				}
				m := msg{c.Topic, rosbag.Time{Sec: uint32(100 - n)}, string(rune('a'+n%26)) + "0123456789"}
				msgs = append(msgs, m)
				if err := w.Write(c, m.Time, []byte(m.Data)); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			edit := func(c *rosbag.Connection) *rosbag.Edit {
				if c.Topic != "/old" {
					return nil
				}
				h := append(rosbag.Header(nil), c.Header...)
				for i := range h {
					if h[i].Key == rosbag.KeyType {
						h[i].Value = "p/New"
					}
				}
				return &rosbag.Edit{Header: h, Payload: func(dst, payload []byte, _ rosbag.Time) ([]byte, bool, error) {
					return append(append(dst, "new "...), payload...), payload[0] != 'b', nil
				}}
			}
			var out memFile
			w, err = bagfmt.NewWriter(&out, bagfmt.WriterOptions{})
			if err != nil {
				t.Fatal(err)
			}
			rep, err := recovery.Recover(bytes.NewReader(f.b), int64(len(f.b)), w, recovery.Options{Edit: edit, Workers: 2})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			var want []msg
			for _, m := range msgs {
				if m.Topic == "/old" {
					m.Data = "new " + m.Data
				}
				if m.Topic != "/old" || m.Data[4] != 'b' {
					want = append(want, m)
				}
			}
			got, errs := scanAll(t, out.b)
			if d := cmp.Diff(want, got); d != "" || errs != nil {
				t.Errorf("%v\n%s", errs, d)
			}
			if rep.Copied == 0 || rep.Copied >= rep.Chunks || rep.Messages != uint64(len(want)) || rep.Lossy() {
				t.Errorf("%d of %d chunks as stored, %d messages, want %d; lossy: %v", rep.Copied, rep.Chunks, rep.Messages, len(want), rep.Lossy())
			}
			r, err := openBag(out.b)
			if err != nil {
				t.Fatal(err)
			}
			conns := r.Connections()
			if len(conns) != 2 || conns[0].ID != 3 || conns[0].Header.Type() != "p/New" || !conns[0].Header.Latching() || conns[0].Header.CallerID() != "/a" || conns[1].ID != 7 || conns[1].Header.Type() != "p/Other" {
				t.Errorf("connections %+v", conns)
			}
		})
	}
}

// TestRecoverEditError checks that an error of an edit ends the copy.
func TestRecoverEditError(t *testing.T) {
	t.Parallel()
	bad := errors.New("bad")
	edit := func(c *rosbag.Connection) *rosbag.Edit {
		return &rosbag.Edit{Header: c.Header, Payload: func([]byte, []byte, rosbag.Time) ([]byte, bool, error) { return nil, false, bad }}
	}
	v12, err := os.ReadFile("testdata/old/v12_indexed.bag")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{sampleBag(t, rosbag.CompressionNone), v12} {
		w, err := bagfmt.NewWriter(&memFile{}, bagfmt.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := recovery.Recover(bytes.NewReader(b), int64(len(b)), w, recovery.Options{Edit: edit}); !errors.Is(err, bad) {
			t.Errorf("%v", err)
		}
	}
}
