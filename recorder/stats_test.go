package recorder

import (
	"fmt"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
)

// TestStatsOfTheEnd checks that an account tells whether more is taken in.
func TestStatsOfTheEnd(t *testing.T) {
	t.Parallel()
	p, c := controlled(t, Options{})
	ending := func() bool {
		s, err := c.Stats()
		if err != nil {
			t.Fatal(err)
		}
		return s.Ending
	}
	if ending() {
		t.Error("it ends before its end")
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if !ending() {
		t.Error("it does not end at its end")
	}
}

// BenchmarkStats measures how long an account holds up the links.
func BenchmarkStats(b *testing.B) {
	p, c := controlled(b, Options{})
	for i := range 500 {
		p.AddTopic(topicname.InBag(fmt.Sprintf("/topic%d", i)), topicname.InGraph(fmt.Sprintf("/topic%d", i)), time.Time{})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Stats(); err != nil {
			b.Fatal(err)
		}
	}
	if err := p.close(); err != nil {
		b.Fatal(err)
	}
}
