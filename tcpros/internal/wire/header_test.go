package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

var publisherHeader = wire.Header{
	{Key: "callerid", Value: "/pub"},
	{Key: "zfoo", Value: "a=b=c"},
	{Key: "md5sum", Value: "992ce8a1687cec8c8bd883ec73ca41d1"},
	{Key: "message_definition", Value: "string data\n\x00\xff"},
	{Key: "type", Value: "std_msgs/String"},
	{Key: "type", Value: "twice"},
}

func TestHeaderRoundTrip(t *testing.T) {
	b := wire.AppendHeader([]byte("x"), publisherHeader)[1:]
	for name, r := range map[string]io.Reader{
		"whole": bytes.NewReader(b), "bytes": iotest.OneByteReader(bytes.NewReader(b)), "halves": iotest.HalfReader(bytes.NewReader(b)),
	} {
		h, err := wire.ReadHeader(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(publisherHeader, h); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if v, ok := publisherHeader.Get("type"); v != "std_msgs/String" || !ok {
		t.Errorf("Get gave %q, %v", v, ok)
	}
}

// ReadHeader must leave the first message where it is.
func TestHeaderLeavesTheRest(t *testing.T) {
	r := bytes.NewReader(append(wire.AppendHeader(nil, publisherHeader), "rest"...))
	if _, err := wire.ReadHeader(r); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(r); string(rest) != "rest" {
		t.Errorf("left %q", rest)
	}
}

func TestHeaderCutEverywhere(t *testing.T) {
	b := wire.AppendHeader(nil, publisherHeader)
	for i := range b {
		_, err := wire.ReadHeader(bytes.NewReader(b[:i:i]))
		if want := io.ErrUnexpectedEOF; i > 0 && !errors.Is(err, want) || i == 0 && !errors.Is(err, io.EOF) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
}

func TestHeaderDamaged(t *testing.T) {
	length := func(n uint32, rest string) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, n), rest...)
	}
	field := func(s string) string { return string(length(uint32(len(s)), s)) }
	block := func(s string) []byte { return length(uint32(len(s)), s) }
	tests := map[string][]byte{
		"4 GiB":           length(1<<32-1, ""),
		"2 GiB":           length(1<<31, ""),
		"1 MiB + 1":       length(1<<20+1, strings.Repeat("x", 1<<20+1)),
		"no =":            block(field("callerid")),
		"empty key":       block(field("=x")),
		"field too long":  block("\xff\xff\xff\xff"),
		"field past end":  block("\x05\x00\x00\x00a=b"),
		"3 bytes":         block("\x05\x00\x00"),
		"too many fields": block(strings.Repeat(field("a=b"), fields.MaxFields+1)),
	}
	for name, b := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := wire.ReadHeader(bytes.NewReader(b))
			h := (*wire.HeaderError)(nil)
			if !errors.Is(err, wire.ErrHeader) || !errors.As(err, &h) {
				t.Errorf("got %v", err)
			}
		})
	}
	value := strings.Repeat("x", 1<<20-6)
	if h, err := wire.ReadHeader(bytes.NewReader(block(field("a=" + value)))); err != nil || len(h) != 1 || h[0].Value != value {
		t.Errorf("the longest header: %d fields, %v", len(h), err)
	}
	if h, err := wire.ReadHeader(bytes.NewReader(block(""))); err != nil || len(h) != 0 {
		t.Errorf("empty header: %v, %v", h, err)
	}
}

func TestHeaderBombCostsWhatWasSent(t *testing.T) {
	b := binary.LittleEndian.AppendUint32(nil, 1<<20)
	b = append(b, "few"...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 1000 {
		_, _ = wire.ReadHeader(bytes.NewReader(b))
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1000*(8<<10) {
		t.Errorf("1000 headers of 7 bytes cost %d", got)
	}
}

func FuzzHeader(f *testing.F) {
	f.Add(wire.AppendHeader(nil, publisherHeader))
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 0})
	f.Add([]byte{7, 0, 0, 0, 3, 0, 0, 0, 'a', '=', 'b', 'x'})
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		h, err := wire.ReadHeader(r)
		if err != nil {
			return
		}
		used := len(in) - r.Len()
		if out := wire.AppendHeader(nil, h); !bytes.Equal(out, in[:used]) {
			t.Fatalf("round trip of %q gave %q", in[:used], out)
		}
	})
}
