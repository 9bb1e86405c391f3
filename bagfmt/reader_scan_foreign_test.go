package bagfmt_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// otherBag is a bag whose connection ids mean other topics than those of sampleBag.
func otherBag(tb testing.TB, comp rosbag.Compression) []byte {
	tb.Helper()
	conns := []*rosbag.Connection{{Topic: "/x", Header: header("b/X")}, {Topic: "/y", Header: header("b/Y")}, {Topic: "/z", Header: header("b/Z")}}
	_, msgs := sample(30)
	return writeBag(tb, bagfmt.WriterOptions{Compression: comp, ChunkBytes: 1000}, conns, msgs)
}

// TestAnotherBagFollows puts a bag after another one, whole or torn: what is read is of
// the first one, and something tells that there is more. The ids of its connections
// must not be taken for those of the first.
func TestAnotherBagFollows(t *testing.T) {
	t.Parallel()
	for _, comp := range compressions {
		first, second := sampleBag(t, comp), otherBag(t, comp)
		open := unindexed(t, first)
		chunks := recordsOf(t, first, 5)
		section := recordsOf(t, first, 7)[0].off
		tests := map[string]struct {
			first  []byte
			second []byte
		}{
			"closed":                             {first, second},
			"index position 0":                   {open, second},
			"index cut off":                      {open[:section], second},
			"torn in a chunk":                    {open[:chunks[2].off+100], second},
			"torn in a header":                   {open[:chunks[2].off+10], second},
			"torn, and one of the same topics":   {open[:chunks[2].off+100], first},
			"torn, second one not closed":        {open[:chunks[2].off+100], unindexed(t, second)[:section]},
			"torn, second one without its start": {open[:chunks[2].off+100], unindexed(t, second)[20:section]},
		}
		for name, tc := range tests {
			t.Run(string(comp)+"/"+name, func(t *testing.T) {
				t.Parallel()
				want, before := readAny(t, tc.first, rosbag.Query{})
				got, errs := readAny(t, slices.Concat(tc.first, tc.second), rosbag.Query{})
				// Where a torn chunk ends, nobody can tell any more.
				if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) || len(got) < countMessages(t, first, chunks[0]) {
					t.Errorf("messages (-want +got):\n%s", cmp.Diff(want, got))
				}
				if len(errs) == 0 || len(errs) < len(faults(before)) {
					t.Errorf("errors %v", errs)
				}
				if !slices.ContainsFunc(errs, func(err error) bool {
					var bad *rosbag.CorruptError
					return errors.As(err, &bad) && !bad.Recovered && bytes.Contains([]byte(bad.Reason), []byte("another bag"))
				}) {
					t.Errorf("nothing tells about the other bag: %v", errs)
				}
			})
		}
	}
}

// brokenFile cannot be read in one range.
type brokenFile struct {
	*bytes.Reader
	from, to int64
}

func (f brokenFile) ReadAt(p []byte, off int64) (int, error) {
	if off < f.to && off+int64(len(p)) > f.from {
		return 0, errBroken
	}
	return f.Reader.ReadAt(p, off)
}

// TestSearchReadError has a damaged bag that cannot be read after the damage: that
// no chunk was found there is not for the damage.
func TestSearchReadError(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	var msgs []msg
	for i := range 8 {
		msgs = append(msgs, msg{conns[0].Topic, rosbag.Time{Sec: uint32(i)}, string(bytes.Repeat([]byte{byte(i)}, 100_000))})
	}
	b := unindexed(t, writeBag(t, bagfmt.WriterOptions{ChunkBytes: 1000}, conns[:1], msgs))
	chunks := recordsOf(t, b, 5)
	b = setU32(b, chunks[2].off, 1<<31)
	for name, f := range map[string]brokenFile{
		"to the end":   {bytes.NewReader(b), int64(chunks[2].off) + 40_000, int64(len(b))},
		"for a moment": {bytes.NewReader(b), int64(chunks[3].off), int64(chunks[3].off) + 512},
	} {
		_, err := bagfmt.NewReader(f, int64(len(b)), bagfmt.ReaderOptions{})
		if !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
