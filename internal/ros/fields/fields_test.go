package fields_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/fields"
)

var sample = fields.List{
	{Key: "callerid", Value: "/talker"},
	{Key: "md5sum", Value: "992ce8a1687cec8c8bd883ec73ca41d1"},
	{Key: "message_definition", Value: "string data\n# a=b\n"},
	{Key: "zfoo", Value: ""},
	{Key: "raw", Value: "\x00\xff=\n"},
	{Key: "zfoo", Value: "again"},
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	b := sample.Append(nil)
	if len(b) != sample.Size() {
		t.Errorf("Size() = %d, encoded %d bytes", sample.Size(), len(b))
	}
	got, err := fields.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(sample, got); d != "" {
		t.Errorf("round trip differs (-want +got):\n%s", d)
	}
	if v, ok := got.Get("zfoo"); v != "" || !ok {
		t.Errorf(`Get("zfoo") = %q, %v; want the first, empty one`, v, ok)
	}
	if _, ok := got.Get("none"); ok {
		t.Error(`Get("none") found a field`)
	}
}

func TestTruncatedEverywhere(t *testing.T) {
	t.Parallel()
	full := sample.Append(nil)
	for i := range full {
		got, err := fields.Parse(full[:i:i])
		if err != nil && !errors.Is(err, fields.ErrCorrupt) {
			t.Errorf("cut at %d: untyped error %v", i, err)
		}
		if err == nil && len(got) >= len(sample) {
			t.Errorf("cut at %d: all fields came back", i)
		}
	}
}

func TestCorrupt(t *testing.T) {
	t.Parallel()
	field := func(s string) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(s))), s...)
	}
	good := field("a=b")
	tests := map[string]struct {
		in         []byte
		wantOffset int
	}{
		"no equals sign":     {append(good, field("abc")...), len(good) + 4},
		"empty key":          {append(good, field("=b")...), len(good) + 4},
		"empty field":        {append(good, field("")...), len(good) + 4},
		"longer than rest":   {append(good, 9, 0, 0, 0, 'a', '='), len(good)},
		"length of 4 GiB":    {append(good, 0xff, 0xff, 0xff, 0xff, 'a', '='), len(good)},
		"half a length":      {append(good, 1, 0), len(good)},
		"key beyond limit":   {field(strings.Repeat("k", fields.MaxKeyBytes+1) + "=v"), 4},
		"count beyond limit": {[]byte(strings.Repeat(string(good), fields.MaxFields+1)), fields.MaxFields * len(good)},
	}
	if l, err := fields.ParseLimit(tests["count beyond limit"].in, fields.MaxFields+1); err != nil || len(l) != fields.MaxFields+1 {
		t.Errorf("limit of one more: %d fields, %v", len(l), err)
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := fields.Parse(tc.in)
			var c *fields.CorruptError
			if !errors.As(err, &c) || !errors.Is(err, fields.ErrCorrupt) {
				t.Fatalf("got %v, want a CorruptError", err)
			}
			if c.Offset != tc.wantOffset {
				t.Errorf("offset %d, want %d (%v)", c.Offset, tc.wantOffset, err)
			}
		})
	}
}

func FuzzFields(f *testing.F) {
	f.Add(sample.Append(nil))
	f.Add([]byte{})
	f.Add([]byte{3, 0, 0, 0, 'a', '=', 'b'})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, in []byte) {
		l, err := fields.Parse(in)
		if err != nil {
			if !errors.Is(err, fields.ErrCorrupt) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if out := l.Append(nil); string(out) != string(in) {
			t.Fatalf("round trip differs for %q: %q", in, out)
		}
	})
}
