package timeline_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/view/timeline"
	"github.com/gorosbag/gorosbag/rosbag"
)

// at is a time in milliseconds.
func at(ms int) rosbag.Time { return rosbag.Time{Sec: 1000}.Add(time.Duration(ms) * time.Millisecond) }

// TestDensity counts chunks and messages in ten bins of 100 ms.
func TestDensity(t *testing.T) {
	t.Parallel()
	axis := timeline.Axis{From: at(0), To: at(1000), Bins: 10}
	for name, c := range map[string]struct {
		count func(d *timeline.Density)
		want  []byte
	}{
		"nothing":             {func(*timeline.Density) {}, nil},
		"outside":             {func(d *timeline.Density) { d.Spread(0, at(1001), at(1200), 5); d.Add(0, at(-1)) }, nil},
		"one message":         {func(d *timeline.Density) { d.Add(0, at(250)) }, []byte{0, 0, 255, 0, 0, 0, 0, 0, 0, 0}},
		"the last instant":    {func(d *timeline.Density) { d.Add(0, at(1000)) }, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 255}},
		"a chunk of one bin":  {func(d *timeline.Density) { d.Spread(0, at(310), at(390), 7) }, []byte{0, 0, 0, 255, 0, 0, 0, 0, 0, 0}},
		"a chunk of no width": {func(d *timeline.Density) { d.Spread(0, at(400), at(400), 7) }, []byte{0, 0, 0, 0, 255, 0, 0, 0, 0, 0}},
		"an even chunk":       {func(d *timeline.Density) { d.Spread(0, at(200), at(500), 30) }, []byte{0, 0, 255, 255, 255, 0, 0, 0, 0, 0}},
		"cut at both ends":    {func(d *timeline.Density) { d.Spread(0, at(-500), at(1500), 30) }, []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255}},
		"few are seen beside many": {func(d *timeline.Density) {
			d.Spread(0, at(0), at(99), 1000000)
			d.Add(0, at(950))
		}, []byte{255, 0, 0, 0, 0, 0, 0, 0, 0, 24}},
	} {
		d := timeline.NewDensity(axis, 1)
		c.count(d)
		if diff := cmp.Diff(c.want, d.Levels(0)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestSilence: more than five periods are a gap, also at the start; chunks may overlap.
func TestSilence(t *testing.T) {
	t.Parallel()
	s := timeline.NewSilence(200 * time.Millisecond)
	s.From(at(0))
	s.See(at(1200), at(4000))
	s.See(at(2000), at(3000)) // within the one before
	s.See(at(5000), at(6000)) // 1 s is no gap
	s.See(at(7001), at(7001))
	want := []timeline.Gap{{From: at(0), To: at(1200)}, {From: at(6000), To: at(7001)}}
	if diff := cmp.Diff(want, s.Gaps); diff != "" || s.More != 0 {
		t.Errorf("%d more: %s", s.More, diff)
	}
	fast := timeline.NewSilence(10 * time.Millisecond)
	fast.See(at(0), at(0))
	fast.See(at(500), at(500)) // a moment
	fast.See(at(1001), at(1001))
	if diff := cmp.Diff([]timeline.Gap{{From: at(500), To: at(1001)}}, fast.Gaps); diff != "" {
		t.Error(diff)
	}
	unknown := timeline.NewSilence(0)
	unknown.See(at(0), at(0))
	unknown.See(at(5000), at(5000))
	if len(unknown.Gaps) != 0 {
		t.Errorf("gaps of a topic without a period: %v", unknown.Gaps)
	}
}

// TestManyGaps: the longest gaps are kept, in the order of time.
func TestManyGaps(t *testing.T) {
	t.Parallel()
	s := timeline.NewSilence(time.Millisecond)
	last := 0
	for n := range 2 * timeline.MaxGaps {
		s.See(at(last), at(last))
		last += 1000 + n
	}
	if len(s.Gaps) != timeline.MaxGaps || s.More != timeline.MaxGaps-1 {
		t.Errorf("%d gaps, %d more", len(s.Gaps), s.More)
	}
	for i, g := range s.Gaps {
		if want := time.Duration(1000+timeline.MaxGaps-1+i) * time.Millisecond; g.Len() != want {
			t.Fatalf("gap %d lasts %v, want %v", i, g.Len(), want)
		}
	}
}
