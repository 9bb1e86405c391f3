package preflight_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/cmd/record/internal/preflight"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// TestPreflight: what is bad comes first, and makes the whole not ready.
func TestPreflight(t *testing.T) {
	t.Parallel()
	begun := time.Unix(1_700_000_000, 0)
	now := begun.Add(8 * time.Second)
	topic := func(name string, came uint64, stamped time.Duration) control.TopicStats {
		s := control.TopicStats{Topic: name, Publishers: 1, Came: came, CameBytes: 1000 * came, Last: now}
		if stamped != 0 {
			s.Stamped = now.Add(-time.Second) // a large message came later in part, and its stamp is not there yet
			s.Stamp = s.Stamped.Add(-stamped)
		}
		return s
	}
	heard := func(topics ...control.TopicStats) preflight.Heard {
		return preflight.Heard{Before: control.Stats{Taken: begun, Topics: []control.TopicStats{topic("/imu", 100, 0)}}, After: control.Stats{Taken: now, Topics: topics}}
	}
	expect := func(h *preflight.Heard, texts ...string) {
		for _, text := range texts {
			e, err := finding.Expect(text)
			if err != nil {
				t.Fatal(err)
			}
			h.Expect = append(h.Expect, e)
		}
	}
	well := heard(topic("/imu", 900, 3*time.Millisecond), topic("/odd", 0, 0))
	expect(&well, "/imu=100..101")
	well.After.Topics = append(well.After.Topics, control.TopicStats{Topic: "/map", Came: 1, Publishers: 1, Latching: true, Last: now, Stamp: begun}, control.TopicStats{Topic: "/crashed"})
	well.Facts = []preflight.Fact{{What: "disk", Text: "60 GiB free"}}
	bad := heard(topic("/imu", 500, -time.Minute), topic("/gps", 800, 0), topic("/cam", 80, time.Microsecond), topic("/mute", 0, 0))
	expect(&bad, "/imu=100", "/gps=1..50", "/mute=0", "/lidar/*=10")
	bad.After.Topics = append(bad.After.Topics, control.TopicStats{Topic: "/named"})
	bad.After.Findings = []finding.Finding{{Topic: "/cam", Kind: finding.Stamps, Cause: finding.Still}, {Topic: "/gps", Kind: finding.Slow, Expected: true}}
	bad.Named, bad.Facts = []string{"/named"}, []preflight.Fact{{What: "store", Text: "no \x1b such bucket", Bad: true}}
	sim := heard(topic("/imu", 100, time.Hour))
	sim.Simulated = true
	for name, tc := range map[string]struct {
		heard *preflight.Heard
		good  bool
		want  string
	}{
		"well": {&well, true, `topic     expected  measured  stamps       verdict
/imu      100..101  100 Hz    3 ms behind  ok
/odd                -         -            no message
/map                0.12 Hz   -            ok, latched
/crashed            -         -            no publisher

disk:  60 GiB free

ready
`},
		"bad": {&bad, false, `topic     expected  measured  stamps       verdict
/imu      100       50 Hz     1 min ahead  ! slow
/gps      1..50     100 Hz    -            ! too fast
/cam                10 Hz     0 ms         ! stamps standing still
/mute     0         -         -            ! no message
/named              -         -            ! no publisher
/lidar/*  10                               ! no such topic

store:  ! "no \x1b such bucket"

not ready: see the lines with !
`},
		"simulated": {&sim, true, "topic  expected  measured  stamps     verdict\n/imu             0 Hz      simulated  ok\n\n\nready\n"},
	} {
		var text strings.Builder
		if good, err := tc.heard.Write(&text); err != nil || good != tc.good || text.String() != tc.want {
			t.Errorf("%s: good %v, %v\n%s\nwant\n%s", name, good, err, text.String(), tc.want)
		}
	}
}

// TestLasts: how long memory or a disk lasts at the rate that was measured.
func TestLasts(t *testing.T) {
	t.Parallel()
	begun := time.Unix(1_700_000_000, 0)
	h := preflight.Heard{Before: control.Stats{Taken: begun}, After: control.Stats{Taken: begun.Add(8 * time.Second), Topics: []control.TopicStats{{CameBytes: 8 << 20}}}}
	if lasts, text := h.Lasts(60 << 20); lasts != time.Minute || text != "1 min at 1.0 MiB/s" {
		t.Errorf("%v, %q", lasts, text)
	}
	h.After.Topics = nil
	if lasts, text := h.Lasts(60 << 20); lasts >= 0 || text != "nothing came" {
		t.Errorf("%v, %q", lasts, text)
	}
}
