package foxglove

import (
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/rosbag"
)

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestGoldenServer checks binary messages to viewers against vectors of the protocol's own tests.
func TestGoldenServer(t *testing.T) {
	t.Parallel()
	at := func(ns uint32) rosbag.Time { return rosbag.Time{Nsec: ns} }
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"time":    {appendTime(nil, timeOf(1234567890)), "02 d202964900000000"},
		"message": {append(appendMessageHeader(nil, 7, rosbag.Time{Sec: 1, Nsec: 2}), 'x'), "01 07000000 02ca9a3b00000000 78"},
		"playing": {appendState(nil, live.PlaybackState{Status: live.Playing, Time: at(12345), Speed: 1}, false, ""), "05 00 3930000000000000 0000803f 00 00000000"},
		"jumped":  {appendState(nil, live.PlaybackState{Status: live.Playing, Time: at(12345), Speed: 1}, true, ""), "05 00 3930000000000000 0000803f 01 00000000"},
		"answer": {
			appendState(nil, live.PlaybackState{Status: live.Ended, Time: at(12345), Speed: 0.5}, false, "some-id"),
			"05 03 3930000000000000 0000003f 00 07000000 736f6d652d6964",
		},
	} {
		if diff := cmp.Diff(strings.ReplaceAll(c.want, " ", ""), hex.EncodeToString(c.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestGoldenViewer checks playback requests against vectors of the protocol's own tests, and requests
// that are a byte too short or too long.
func TestGoldenViewer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bytes string
		want  playbackControl
	}{
		"pause": {"03 01 0000803f 00 0000000000000000 07000000 736f6d652d6964", playbackControl{pause: true, speed: 1, id: "some-id"}},
		"seek":  {"03 00 0000803f 01 15cd5b0700000000 07000000 736f6d652d6964", playbackControl{speed: 1, seek: true, seekTo: 123456789, id: "some-id"}},
		"no id": {"03 00 0000803f 00 15cd5b0700000000 00000000", playbackControl{speed: 1, seekTo: 123456789}},
	} {
		b := unhex(t, c.bytes)
		got, err := parsePlaybackControl(b[1:])
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(playbackControl{})); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		for n := range len(b) - 1 {
			if _, err := parsePlaybackControl(b[1 : 1+n : 1+n]); !errors.Is(err, errControl) {
				t.Errorf("%s: %d bytes: %v", name, n, err)
			}
		}
		if _, err := parsePlaybackControl(append(b[1:], 0)); !errors.Is(err, errControl) {
			t.Errorf("%s: a byte too many: %v", name, err)
		}
	}
	for name, bytes := range map[string]string{
		"unknown command": "02 0000803f 00 0000000000000000 00000000",
		"unknown seek":    "00 0000803f 02 0000000000000000 00000000",
		"huge id":         "00 0000803f 00 0000000000000000 ffffffff",
	} {
		if _, err := parsePlaybackControl(unhex(t, bytes)); !errors.Is(err, errControl) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLimitedRequests(t *testing.T) {
	t.Parallel()
	first, last := rosbag.Time{Sec: 10}, rosbag.Time{Sec: 20, Nsec: 5}
	for speed, want := range map[float32]float64{
		1: 1, 0.5: 0.5, 0: 0.01, -1: 0.01, 1e9: 100, 0.001: 0.01,
		float32(math.Inf(1)): 100, float32(math.Inf(-1)): 0.01, float32(math.NaN()): 0.01,
	} {
		c := playbackControl{speed: speed}
		if got := c.limited(first, last); got.Speed != want || !got.Play || got.Seek {
			t.Errorf("speed %v: %+v", speed, got)
		}
	}
	for ns, want := range map[uint64]rosbag.Time{
		0: first, 10e9: first, 15e9 + 7: {Sec: 15, Nsec: 7}, 20e9 + 6: last, math.MaxUint64: last,
	} {
		c := playbackControl{pause: true, seek: true, seekTo: ns}
		if got := c.limited(first, last); got.SeekTo != want || got.Play || !got.Seek {
			t.Errorf("seek to %d: %+v", ns, got)
		}
	}
}
