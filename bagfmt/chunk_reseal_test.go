package bagfmt_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// TestAppendSealed: the later messages of a chunk go into another one, with the
// records of their connections.
func TestAppendSealed(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	for _, comp := range compressions {
		t.Run(string(comp), func(t *testing.T) {
			t.Parallel()
			z, err := bagfmt.NewCompressor(comp)
			if err != nil {
				t.Fatal(err)
			}
			var b bagfmt.ChunkBuilder
			b.Reset(nil)
			at := bagfmt.Time{Sec: 100}
			for i := range 20 {
				b.AppendRun(conns[i%2], at.Add(time.Duration(i)*time.Second), frame(string(rune('a'+i))), 1)
			}
			old := seal(t, &b, z)

			var next bagfmt.ChunkBuilder
			next.Reset(nil)
			if err := next.AppendSealed(old, bagfmt.Time{Sec: 112}); err != nil {
				t.Fatal(err)
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
