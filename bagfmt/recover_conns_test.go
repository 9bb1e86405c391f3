package bagfmt_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/rosbag"
)

// connRecord is the record of a connection of strings.
func connRecord(id uint32, topic, md5 string) []byte {
	about := fields.List{{Key: "topic", Value: topic}, {Key: "type", Value: "std_msgs/String"}, {Key: "md5sum", Value: md5}, {Key: "message_definition", Value: "string data\n"}}
	block := rec(about, nil)
	return rec(fields.List{{Key: "op", Value: "\x07"}, {Key: "conn", Value: u32s(id)}, {Key: "topic", Value: topic}}, block[4:len(block)-4])
}

// messageRecord is a message of a connection of strings.
func messageRecord(id, sec, nsec uint32, text string) []byte {
	return rec(fields.List{{Key: "op", Value: "\x02"}, {Key: "conn", Value: u32s(id)}, {Key: "time", Value: u32s(sec, nsec)}}, []byte(u32s(uint32(len(text)))+text))
}

// unclosedBag is a bag of chunks that was not closed, and has records after them.
func unclosedBag(tb testing.TB, chunks [][]byte, alone ...[]byte) []byte {
	tb.Helper()
	full := sampleBag(tb, rosbag.CompressionNone)
	head := recordsOf(tb, full, 3)[0].fields
	b := slices.Clone(full[:recordsOf(tb, full, 5)[0].off])
	b = setU32(setU32(setU64(b, head["index_pos"], 0), head["conn_count"], 0), head["chunk_count"], 0)
	for _, data := range chunks {
		b = append(b, rec(fields.List{{Key: "op", Value: "\x05"}, {Key: "compression", Value: "none"}, {Key: "size", Value: u32s(uint32(len(data)))}}, data)...)
	}
	return append(b, slices.Concat(alone...)...)
}

// TestRecoverTwoMeanings: where two definitions of a connection id come before its messages, these may be of either, and
// Recover says so. Where each definition comes before its own messages, all are kept.
func TestRecoverTwoMeanings(t *testing.T) {
	t.Parallel()
	a, b := connRecord(0, "/a", stringMD5), connRecord(0, "/b", stringMD5)
	a1, b2 := messageRecord(0, 1, 0, "a1"), messageRecord(0, 2, 0, "b2")
	onA, onB := msg{"/a", rosbag.Time{Sec: 1}, u32s(2) + "a1"}, msg{"/b", rosbag.Time{Sec: 2}, u32s(2) + "b2"}
	asB := msg{"/b", rosbag.Time{Sec: 1}, u32s(2) + "a1"}
	emptyChunk := rec(fields.List{{Key: "op", Value: "\x05"}, {Key: "compression", Value: "none"}, {Key: "size", Value: u32s(0)}}, nil)
	for name, tc := range map[string]struct {
		bag  []byte
		want []msg
		told int
	}{
		"in one chunk, apart":           {unclosedBag(t, [][]byte{slices.Concat(a, a1, b, b2)}), []msg{onA, onB}, 0},
		"in two chunks":                 {unclosedBag(t, [][]byte{slices.Concat(a, a1), slices.Concat(b, b2)}), []msg{onA, onB}, 0},
		"in one chunk, before messages": {unclosedBag(t, [][]byte{slices.Concat(a, b, a1, b2)}), []msg{asB, onB}, 1},
		"in a chunk that is open":       {unclosedBag(t, nil, emptyChunk, a, b, a1, b2), []msg{asB, onB}, 1},
		"in an open chunk, apart":       {unclosedBag(t, nil, emptyChunk, a, a1, b, b2), []msg{onA, onB}, 0},
		"the same twice":                {unclosedBag(t, [][]byte{slices.Concat(a, a, a1)}), []msg{onA}, 0},
		"without messages":              {unclosedBag(t, [][]byte{slices.Concat(a, a1, a, b)}), []msg{onA}, 0},
	} {
		out, report, err := recoverBag(t, tc.bag)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := cmp.Diff(tc.want, soundBag(t, out)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if len(report.Skipped) != tc.told || report.Lossy() != (tc.told > 0) {
			t.Errorf("%s: %+v", name, report)
		}
		for _, s := range report.Skipped {
			if !errors.Is(s.Err, rosbag.ErrCorrupt) || !strings.Contains(s.Err.Error(), "id 0 is both /a (std_msgs/String) and /b (std_msgs/String); its messages may be of either") {
				t.Errorf("%s: %v", name, s.Err)
			}
		}
	}
}

// TestRecoverOddTimes: a time with the nanoseconds of a second or more becomes the one that it stands for.
func TestRecoverOddTimes(t *testing.T) {
	t.Parallel()
	a := connRecord(0, "/a", stringMD5)
	in := unclosedBag(t, [][]byte{
		slices.Concat(a, messageRecord(0, 99, 0, "x"), messageRecord(0, 100, 1_500_000_000, "y"), messageRecord(0, 1<<32-1, 1<<32-1, "z")),
		slices.Concat(messageRecord(0, 102, 0, "w")),
	})
	out, report, err := recoverBag(t, in)
	if err != nil || report.Lossy() || report.Copied != 1 || len(report.Repairs) != 2 || !strings.Contains(report.Repairs[1].Error(), "the nanoseconds of 2 messages of /a are a second or more") {
		t.Errorf("%+v, %v", report, err)
	}
	want := []msg{
		{"/a", rosbag.Time{Sec: 99}, u32s(1) + "x"},
		{"/a", rosbag.Time{Sec: 101, Nsec: 500_000_000}, u32s(1) + "y"},
		{"/a", rosbag.Time{Sec: 1<<32 - 1, Nsec: 999_999_999}, u32s(1) + "z"},
		{"/a", rosbag.Time{Sec: 102}, u32s(1) + "w"},
	}
	if d := cmp.Diff(want, soundBag(t, out)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestMissingMD5Sum: the md5sum of a connection that has none, and a good definition, is that of the definition.
func TestMissingMD5Sum(t *testing.T) {
	t.Parallel()
	in := unclosedBag(t, [][]byte{slices.Concat(connRecord(0, "/a", ""), messageRecord(0, 1, 0, "x"))})
	out, _, err := recoverBag(t, in)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"as it is": in, "recovered": out} {
		r, err := openAny(b)
		if err != nil || len(r.Connections()) != 1 || r.Connections()[0].Header.MD5Sum() != stringMD5 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
