package foxglove

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/gorosbag/gorosbag/rosbag"
)

// FuzzViewer parses messages of a viewer: text as JSON, others as playback requests. An accepted request
// is complete, and its values are within the limits.
func FuzzViewer(f *testing.F) {
	for _, seed := range []string{
		`{"op":"subscribe","subscriptions":[{"id":1,"channelId":2}]}`, `{"op":"unsubscribe","subscriptionIds":[1,2]}`, `{"op":"subscribeConnectionGraph"}`, `{"op":1}`, `[]`,
		"\x03\x01\x00\x00\x80\x3f\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00some-id", "\x03\x00\x00\x00\xc0\x7f\x01\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00", "\x01", "",
	} {
		f.Add([]byte(seed))
	}
	first, last := rosbag.Time{Sec: 10}, rosbag.Time{Sec: 20}
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, ok := parseRequest(b); ok {
			if r.Op == "" || !json.Valid(b) {
				t.Fatalf("accepted %q", b)
			}
			for _, s := range r.Subscriptions {
				if s.ID == nil || s.Channel == nil {
					t.Fatalf("accepted %q", b)
				}
			}
			if len(r.Subscriptions)*2 > len(b) || len(r.SubscriptionIDs)*2 > len(b)+2 {
				t.Fatalf("%d bytes became %d entries", len(b), len(r.Subscriptions))
			}
		}
		if len(b) == 0 {
			return
		}
		c, err := parsePlaybackControl(b[1:])
		if err != nil {
			return
		}
		if len(c.id) > maxRequestID || !bytes.HasSuffix(b, []byte(c.id)) {
			t.Fatalf("the ID is %q of %q", c.id, b)
		}
		r := c.limited(first, last)
		if !(r.Speed >= minSpeed && r.Speed <= maxSpeed) || r.Seek && (r.SeekTo.Before(first) || last.Before(r.SeekTo)) {
			t.Fatalf("not limited: %+v", r)
		}
	})
}
