package bagfmt_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestSealedMessages reads a chunk again, and makes another of the later half of it.
func TestSealedMessages(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	for _, comp := range compressions {
		t.Run(string(comp), func(t *testing.T) {
			t.Parallel()
			z, err := chunk.NewCompressor(comp)
			if err != nil {
				t.Fatal(err)
			}
			var b chunk.Builder
			b.Reset(nil)
			at := rosbag.Time{Sec: 100}
			for i := range 20 {
				b.AppendRun(conns[i%2], at.Add(time.Duration(i)*time.Second), frame(string(rune('a'+i))), 1)
			}
			old := seal(t, &b, z)

			var next chunk.Builder
			next.Reset(nil)
			all := 0
			for m, err := range old.Messages() {
				if err != nil {
					t.Fatal(err)
				}
				if all++; !m.Time.Before(rosbag.Time{Sec: 112}) {
					next.AppendRun(m.Conn, m.Time, m.Frame, 1)
				}
			}
			if all != 20 {
				t.Errorf("%d messages, want 20", all)
			}
			for range old.Messages() {
				break
			}
			bag := bagOf(t, seal(t, &next, z))
			s, err := bagfmt.NewScanner(bytes.NewReader(bag), bagfmt.ScannerOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got, want []string
			for m, err := s.Next(); err == nil; m, err = s.Next() {
				got = append(got, m.Conn.Topic+" "+m.Time.String()+" "+string(m.Data()))
			}
			for i := 12; i < 20; i++ {
				want = append(want, conns[i%2].Topic+" "+at.Add(time.Duration(i)*time.Second).String()+" "+string(rune('a'+i)))
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestLastFrames finds the last message of each connection, before and after the chunk is sealed.
func TestLastFrames(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	for _, comp := range compressions {
		z, err := chunk.NewCompressor(comp)
		if err != nil {
			t.Fatal(err)
		}
		var b chunk.Builder
		b.Reset(nil)
		find := func(want func(*rosbag.Connection) bool) (found []string) {
			for c, f := range b.LastFrames(want) {
				found = append(found, fmt.Sprintf("%d %s", c.ID, f[4:]))
			}
			return found
		}
		all := func(*rosbag.Connection) bool { return true }
		second := func(c *rosbag.Connection) bool { return c.ID == 1 }
		if got := find(all); got != nil {
			t.Errorf("%s: in an empty chunk: %q", comp, got)
		}
		b.AppendRun(conns[2], rosbag.Time{}, nil, 0) // has its record in the chunk and no message
		b.AppendRun(conns[1], rosbag.Time{Sec: 9}, append(frame("a"), frame("bb")...), 2)
		b.AppendRun(conns[0], rosbag.Time{Sec: 3}, frame("c"), 1)
		b.AppendRun(conns[0], rosbag.Time{Sec: 2}, frame(""), 1)
		for range 2 {
			if got, want := find(all), []string{"0 ", "1 bb"}; !slices.Equal(got, want) {
				t.Errorf("%s: got %q, want %q", comp, got, want)
			}
			if got, want := find(second), []string{"1 bb"}; !slices.Equal(got, want) {
				t.Errorf("%s: of the second connection: got %q, want %q", comp, got, want)
			}
			for range b.LastFrames(all) {
				break
			}
			seal(t, &b, z)
		}
	}
}
