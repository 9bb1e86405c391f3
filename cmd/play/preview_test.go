package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestPlayPreview(t *testing.T) {
	t.Parallel()
	p := player.Preview{
		Start: rosbag.Time{Sec: 1000}, End: rosbag.Time{Sec: 1002, Nsec: 5e8},
		Topics: []player.PreviewTopic{
			{Name: "/地图", Recorded: []string{"/地图"}, Type: "nav_msgs/OccupancyGrid", Latching: true, CallerIDs: []string{"/mapper"}},
			{
				Name: "/x", Recorded: []string{"/a", "/b\x1b[2J"}, Type: "std_msgs/String", Messages: 12345, Rate: 4938,
				CallerIDs: []string{"/ü", "/y"}, Listeners: []string{"/base"},
			},
		},
		Unplayable: []control.Unplayable{{Bag: "x.bag", Topic: "/w", Reason: "no type"}},
		Damage:     []*control.DamageError{{Bag: "x.bag", Err: errors.New("torn")}},
	}
	got := strings.Split(previewText(&p), "\n")
	want := []string{
		`messages      hz  latched  topic  type                    in the bag      recorded from  heard by`,
		`       0     0.0      yes  /地图  nav_msgs/OccupancyGrid                  /mapper`,
		`   12345  4938.0           /x     std_msgs/String         /a "/b\x1b[2J"  /ü /y          /base`,
	}
	if d := cmp.Diff(want, got[:3]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for i, want := range []string{
		"12345 messages on 2 topics, 2.500 s, from 1970-01-01 ", "cannot be played: /w of x.bag: no type", "damaged: ",
		"at present 1 of these topics have subscribers, and 0 have other publishers", "",
	} {
		if !strings.HasPrefix(got[3+i], want) {
			t.Errorf("line %d is %q, want %q", 3+i, got[3+i], want)
		}
	}
	p.Damage[0].Err = &rosbag.EncodingError{Topic: "/json", Encoding: "json"}
	if got := previewText(&p); !strings.Contains(got, "\nleft out: bag x.bag: ") || strings.Contains(got, "damaged") {
		t.Errorf("with a topic that is left out:\n%s", got)
	}
	p.Graph = errors.New("connection refused")
	if got := previewText(&p); !strings.Contains(got, "is not known: connection refused\n") {
		t.Errorf("without a master:\n%s", got)
	}
}
