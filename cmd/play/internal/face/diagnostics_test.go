package face

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// value returns a value of a part.
func value(parts []stdmsg.DiagnosticStatus, part int, key string) string {
	for _, v := range parts[part].Values {
		if v.Key == key {
			return v.Value
		}
	}
	return "no " + key
}

func TestPlayStatus(t *testing.T) {
	t.Parallel()
	stats := control.Stats{
		Status: control.Status{
			Phase: control.PhasePlay, Rate: 5, Played: 30_999 * time.Millisecond, Elapsed: 10 * time.Second, Position: 1500 * time.Millisecond, Length: time.Minute,
			BagTime: rosbag.Time{Sec: 1000, Nsec: 7}, Messages: 12, Pass: 2, Bookmarks: []time.Duration{time.Second, 2 * time.Second},
		},
		WaitingFor: []string{"/map"},
		Topics: []control.TopicStats{
			{Name: "/imu", Type: "sensor_msgs/Imu", Messages: 10, Bytes: 2048, Dropped: 3, Subscribers: []tcpros.SubscriberStats{{CallerID: "/slow", Dropped: 3}, {CallerID: "/fast"}}},
			{Name: "/map", Latching: true, Off: true},
		},
	}
	s := diagnostics("/p", &stats)
	var got []string
	for _, status := range s {
		got = append(got, string('0'+rune(status.Level))+" "+status.Name+" = "+status.Message)
	}
	want := []string{"1 /p: playing = held up at 1.500 s of 60.000 s; 3 dropped", "1 /p: /imu = 10 messages, 2.0 KiB; 3 dropped", "0 /p: /map = off"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for key, want := range map[string]string{
		"phase": "playing", "paused": "false", "position": "1.500", "length": "60.000", "bag time": "1000.000000007", "rate": "5",
		"rate achieved": "3.0999", "pass": "2", "messages": "12", "dropped": "3", "bookmarks": "1.000 2.000", "waiting for": "/map",
	} {
		if got := value(s, 0, key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	if got := value(s, 1, "subscribers") + " " + value(s, 1, "dropped for /slow") + " " + value(s, 1, "dropped for /fast"); got != "2 3 no dropped for /fast" {
		t.Errorf("/imu: %s", got)
	}
	for _, tc := range []struct {
		damage       control.DamageCount
		lost, places string
	}{
		{control.DamageCount{}, "none", "0"},
		{control.DamageCount{Places: 2, Messages: 7}, "at most 7", "2"},
		{control.DamageCount{Places: 1, Unknown: 1}, "an unknown number", "1"},
		{control.DamageCount{Places: 2, Messages: 7, Unknown: 1}, "at most 7 and an unknown number", "2"},
	} {
		damaged := control.Stats{Damage: tc.damage}
		s := diagnostics("/p", &damaged)
		if value(s, 0, "lost in damaged places") != tc.lost || value(s, 0, "damaged places") != tc.places {
			t.Errorf("%+v: %q, %q", tc.damage, value(s, 0, "lost in damaged places"), value(s, 0, "damaged places"))
		}
		level, text := stdmsg.DiagnosticWarn, "registering topics at 0.000 s of 0.000 s; "+tc.lost+" lost in damaged places ("+tc.places+")"
		if tc.damage.Places == 0 {
			level, text = 0, "registering topics at 0.000 s of 0.000 s"
		}
		if got := s[0]; got.Level != level || got.Message != text {
			t.Errorf("level %d, %q, want %d, %q", got.Level, got.Message, level, text)
		}
	}
	for _, tc := range []struct {
		change func(*control.Stats)
		want   string
	}{
		{func(s *control.Stats) { s.Paused = true }, "paused"},
		{func(s *control.Stats) { s.Paused, s.PausedBy = true, "/imu" }, "paused before a message of /imu"},
		{func(s *control.Stats) { s.Delayed = time.Second }, "delayed by rate control"},
		{func(s *control.Stats) { s.Starving = time.Second }, "waiting for the disk"},
		{func(s *control.Stats) { s.Phase, s.Paused = control.PhaseKeepAlive, true }, "all is published"},
	} {
		changed := stats
		tc.change(&changed)
		if got, want := diagnostics("/p", &changed)[0].Message, tc.want+" at 1.500 s of 60.000 s; 3 dropped"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
