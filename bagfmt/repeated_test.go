package bagfmt_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/recovery"
	"github.com/gorosbag/gorosbag/rosbag"
)

// cutAt is the time of the cut of repeatedBag.
var cutAt = rosbag.Time{Sec: 10}

// repeatedBag begins with two repeated messages. Others of their connections have the same
// time, or an earlier one.
func repeatedBag(tb testing.TB, r rosbag.Repeated) []byte {
	tb.Helper()
	var f memFile
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{ChunkBytes: 1})
	if err != nil {
		tb.Fatal(err)
	}
	latching := rosbag.Field{Key: "latching", Value: "1"}
	var conns []*rosbag.Connection
	for topic, h := range map[string]rosbag.Header{"/map": header("a/Map", latching), "/odom": header("a/Odom"), "/tf_static": header("a/TF", latching)} {
		c, err := w.AddConnection(topic, h)
		if err != nil {
			tb.Fatal(err)
		}
		conns = append(conns, c)
	}
	slices.SortFunc(conns, func(a, b *rosbag.Connection) int { return bytes.Compare([]byte(a.Topic), []byte(b.Topic)) })
	chart, odom, tf := conns[0], conns[1], conns[2]
	for _, m := range []struct {
		c    *rosbag.Connection
		t    rosbag.Time
		data string
	}{
		{chart, cutAt, "repeated map"},
		{tf, cutAt, "repeated tf"},
		{odom, cutAt, "odom"},
		{chart, cutAt, "map"},
		{tf, rosbag.Time{Sec: 9}, "late tf"},
		{tf, cutAt, "tf"},
		{odom, rosbag.Time{Sec: 11}, "end"},
	} {
		if err := w.Write(m.c, m.t, []byte(m.data)); err != nil {
			tb.Fatal(err)
		}
	}
	w.SetRepeated(r)
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return f.b
}

// found returns the repeated messages that a pass over the messages of a topic, or all, finds.
func found(tb testing.TB, b []byte, topic string) (list []string) {
	tb.Helper()
	r, err := openAny(b)
	if err != nil {
		tb.Fatal(err)
	}
	is := rosbag.FindRepeats(r)
	for m, err := range rosbag.Messages(r, rosbag.Query{Keep: func(c *rosbag.Connection) bool { return topic == "" || c.Topic == topic }}) {
		if err != nil {
			tb.Fatal(err)
		}
		if is.Is(m) {
			list = append(list, string(m.Data()))
		}
	}
	return list
}

// scanned is found for a Scanner.
func scanned(tb testing.TB, b []byte) (list []string) {
	tb.Helper()
	s, err := bagfmt.NewScanner(bytes.NewReader(b), bagfmt.ScannerOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	is := s.Repeated().Pass()
	for {
		m, err := s.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			tb.Fatal(err)
		}
		if is.Is(m) {
			list = append(list, string(m.Data()))
		}
	}
}

// TestRepeated: repeated messages are told from others of the same time and connection, whatever
// is selected, and whatever was done to the bag.
func TestRepeated(t *testing.T) {
	t.Parallel()
	said := rosbag.Repeated{Count: 2, Time: cutAt}
	closed := repeatedBag(t, said)
	appended := &memFile{b: slices.Clone(closed)}
	latched := &rosbag.Connection{Topic: "/note", Header: header("a/Note", rosbag.Field{Key: "latching", Value: "1"})}
	if err := amend(appended, len(closed), addition{latched, cutAt, "note"}); err != nil {
		t.Fatal(err)
	}
	crashed := unindexed(t, closed)
	var recovered memFile
	w, err := bagfmt.NewWriter(&recovered, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := recovery.Recover(bytes.NewReader(crashed), int64(len(crashed)), w, recovery.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"closed": closed, "appended": appended.b, "crashed": crashed, "recovered": recovered.b} {
		r, err := openAny(b)
		if err != nil {
			t.Fatal(err)
		}
		if r.Info().Repeated != said {
			t.Errorf("%s: %+v", name, r.Info().Repeated)
		}
		for topic, want := range map[string][]string{"": {"repeated map", "repeated tf"}, "/tf_static": {"repeated tf"}, "/odom": nil} {
			if d := cmp.Diff(want, found(t, b, topic)); d != "" {
				t.Errorf("%s, %q (-want +got):\n%s", name, topic, d)
			}
		}
		if d := cmp.Diff([]string{"repeated map", "repeated tf"}, scanned(t, b)); d != "" {
			t.Errorf("%s, scanned (-want +got):\n%s", name, d)
		}
	}
}

// TestRepeatedHostile: what a bag header says wrongly names no messages but latched ones of that
// time, and harms nobody.
func TestRepeatedHostile(t *testing.T) {
	t.Parallel()
	all := []string{"repeated map", "repeated tf", "map", "tf"}
	for name, test := range map[string]struct {
		b    []byte
		said rosbag.Repeated // by the Reader
		want []string
	}{
		"none":           {repeatedBag(t, rosbag.Repeated{}), rosbag.Repeated{}, nil},
		"no time alone":  {repeatedBag(t, rosbag.Repeated{Time: cutAt}), rosbag.Repeated{}, nil},
		"too many":       {repeatedBag(t, rosbag.Repeated{Count: math.MaxUint32, Time: cutAt}), rosbag.Repeated{Count: 7, Time: cutAt}, all},
		"another time":   {repeatedBag(t, rosbag.Repeated{Count: 2, Time: rosbag.Time{Sec: 8}}), rosbag.Repeated{Count: 2, Time: rosbag.Time{Sec: 8}}, nil},
		"time zero":      {repeatedBag(t, rosbag.Repeated{Count: 2}), rosbag.Repeated{Count: 2}, nil},
		"wrong length":   {renamed(t, repeatedBag(t, rosbag.Repeated{Count: 2, Time: cutAt}), "repeated_time=\n", "repeated_count="), rosbag.Repeated{}, nil},
		"one of the two": {renamed(t, repeatedBag(t, rosbag.Repeated{Count: 2, Time: cutAt}), "repeated_time", "repeated_tome"), rosbag.Repeated{}, nil},
	} {
		r, err := openBag(test.b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.Info().Repeated != test.said {
			t.Errorf("%s: %+v, want %+v", name, r.Info().Repeated, test.said)
		}
		if d := cmp.Diff(test.want, found(t, test.b, "")); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if d := cmp.Diff(test.want, scanned(t, test.b)); d != "" {
			t.Errorf("%s, scanned (-want +got):\n%s", name, d)
		}
	}
}

// renamed replaces the name of a field of the bag header.
func renamed(tb testing.TB, b []byte, from, to string) []byte {
	tb.Helper()
	if i := bytes.Index(b, []byte(from)); i < 0 || i > 4096 {
		tb.Fatalf("no field %s", from)
	}
	return bytes.Replace(b, []byte(from), []byte(to), 1)
}
