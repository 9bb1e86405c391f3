package face

import (
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// TestStatusLine: systemctl status says what is wrong with the store, and nothing while it is well.
func TestStatusLine(t *testing.T) {
	t.Parallel()
	const plain = "recording 0 topics, 0.0 MiB/s, 0 messages lost"
	for want, handover := range map[string]*control.HandoverStats{
		plain:                        nil,
		plain + ", 4.0 KiB in x.bag": {State: control.HandoverOK},
		plain + ", 4.0 KiB in x.bag, store unchecked":                             {},
		plain + ", 4.0 KiB in x.bag, store unreachable: no route to host":         {State: control.HandoverUnreachable, StateErr: "no route to host"},
		plain + ", 4.0 KiB in x.bag, store failing: the store is full: make room": {State: control.HandoverFailing, StateErr: "the store is full: make room"},
	} {
		now := control.Stats{Handover: handover}
		if handover != nil {
			now.File, now.FileBytes = "/bags/x.bag", 4096
		}
		if got := statusLine(new(control.Stats), &now); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	own := control.Stats{Topics: []control.TopicStats{{Topic: "/a", Publishers: 1}, {Topic: "/gone"}, {Topic: "/gorecord/params", Own: true}, {Topic: "/both", Own: true, Publishers: 1}, {Topic: control.EndedTopics}}}
	if got, want := statusLine(new(control.Stats), &own), strings.Replace(plain, "0 topics", "3 topics", 1); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	silent := control.Stats{Findings: []finding.Finding{{Topic: "/imu", Kind: finding.Silent, Cause: finding.Mute, For: time.Minute}}}
	if got, want := statusLine(new(control.Stats), &silent), "1 topic is silent: /imu for 1 min (publisher there but mute); "+plain; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
