package preflight_test

import (
	"math"
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

// TestFacts: how long memory and disk last at the rate that was measured, and whether that is long enough.
func TestFacts(t *testing.T) {
	t.Parallel()
	begun := time.Unix(1_700_000_000, 0)
	heard := func(bytes uint64, free int64) *preflight.Heard {
		return &preflight.Heard{
			Before: control.Stats{Taken: begun},
			After:  control.Stats{Taken: begun.Add(8 * time.Second), DiskFree: free, Topics: []control.TopicStats{{CameBytes: bytes}}},
		}
	}
	disk := func(bytes uint64, free int64, deletion control.Deletion) preflight.Fact {
		return heard(bytes, free).Disk(1<<30, "1G", &deletion, 10*time.Minute)
	}
	never, now := control.Deletion{}, control.Deletion{Limited: true}
	after := func(bytes int64) control.Deletion {
		return control.Deletion{Limited: true, Bytes: bytes, Time: math.MaxInt64}
	}
	const tooLate = "; it is full before limits delete old bags: set --keep-free, or smaller limits"
	for name, tc := range map[string]struct {
		got  preflight.Fact
		bad  bool
		want string
	}{
		"disk":          {disk(8<<20, 2<<30, never), false, "2.0 GiB free, for 17 min 4 s at 1.0 MiB/s, without compression"},
		"little":        {disk(80<<20, 2<<30, never), true, "2.0 GiB free, for 1 min 42 s at 10 MiB/s, without compression"},
		"deletes":       {disk(80<<20, 2<<30, now), false, "2.0 GiB free; the oldest bags are deleted before it is full"},
		"in time":       {disk(80<<20, 2<<30, after(1<<29)), false, "2.0 GiB free; the oldest bags are deleted before it is full"},
		"too late":      {disk(80<<20, 2<<30, after(50<<30)), true, "2.0 GiB free, for 1 min 42 s at 10 MiB/s, without compression" + tooLate},
		"once too late": {disk(8<<20, 2<<30, after(50<<30)), false, "2.0 GiB free, for 17 min 4 s at 1.0 MiB/s, without compression" + tooLate},
		"too little":    {disk(8<<20, 1<<29, never), true, "512 MiB free, less than --min-space 1G"},
		"none, quiet":   {disk(0, 1<<29, never), true, "512 MiB free, less than --min-space 1G"},
		"makes room":    {disk(0, 1<<29, now), false, "512 MiB free"},
		"makes no room": {disk(0, 1<<29, after(1)), true, "512 MiB free, less than --min-space 1G"},
		"quiet":         {disk(0, 2<<30, never), false, "2.0 GiB free"},
		"unknown":       {disk(8<<20, -1, never), false, "free space is not known"},
		"buffer":        {heard(8<<20, 0).Buffer(60 << 20), false, "60 MiB, for 1 min at 1.0 MiB/s"},
		"small buffer":  {heard(8<<20, 0).Buffer(1 << 19), true, "512 KiB, for 500 ms at 1.0 MiB/s"},
		"quiet buffer":  {heard(0, 0).Buffer(60 << 20), false, "60 MiB"},
		"without limit": {heard(8<<20, 0).Buffer(-1), false, "without a limit"},
	} {
		if tc.got.Text != tc.want || tc.got.Bad != tc.bad {
			t.Errorf("%s: %q, bad %v; want %q, %v", name, tc.got.Text, tc.got.Bad, tc.want, tc.bad)
		}
	}
}
