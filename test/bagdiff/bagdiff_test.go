package bagdiff_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/test/bagdiff"
)

// bag is one topic with two publishers, one of them latching.
func bag() map[string]*bagdiff.Topic {
	header := func(callerID, latching string) bagfmt.ConnectionHeader {
		return bagfmt.ConnectionHeader{
			{Key: "callerid", Value: callerID},
			{Key: "latching", Value: latching},
			{Key: "md5sum", Value: "m"},
			{Key: "message_definition", Value: "d"},
			{Key: "topic", Value: "/t"},
			{Key: "type", Value: "a/B"},
		}
	}
	at := func(ms uint32) bagfmt.Time { return bagfmt.Time{Sec: 1, Nsec: ms * 1e6} }
	return map[string]*bagdiff.Topic{"/t": {
		Headers:  []bagfmt.ConnectionHeader{header("/a", "0"), header("/b", "1")},
		Messages: []bagdiff.Message{{Time: at(0), Data: []byte("x")}, {Time: at(10), Data: []byte("y")}, {Time: at(20), Data: []byte("z")}},
	}}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		damage func(b map[string]*bagdiff.Topic)
		want   string // in the differences; empty means none
	}{
		"same":           {func(map[string]*bagdiff.Topic) {}, ""},
		"other callerid": {func(b map[string]*bagdiff.Topic) { b["/t"].Headers[0][0].Value = "/player" }, ""},
		"topic missing":  {func(b map[string]*bagdiff.Topic) { delete(b, "/t") }, "missing in the copy"},
		"topic more":     {func(b map[string]*bagdiff.Topic) { b["/u"] = &bagdiff.Topic{} }, "/u: only in the copy"},
		"latch lost":     {func(b map[string]*bagdiff.Topic) { b["/t"].Headers = b["/t"].Headers[:1] }, `latching="1"`},
		"other type":     {func(b map[string]*bagdiff.Topic) { b["/t"].Headers[1][5].Value = "a/C" }, `type="a/C"`},
		"field more": {func(b map[string]*bagdiff.Topic) {
			b["/t"].Headers[1] = append(b["/t"].Headers[1], bagfmt.Field{Key: "z", Value: "1"})
		}, `z="1"`},
		"message missing": {func(b map[string]*bagdiff.Topic) { b["/t"].Messages = b["/t"].Messages[1:] }, "3 messages, 2 in the copy"},
		"byte changed":    {func(b map[string]*bagdiff.Topic) { b["/t"].Messages[1].Data = []byte("Y") }, "message 1 differs"},
		"order changed":   {func(b map[string]*bagdiff.Topic) { slices.Reverse(b["/t"].Messages) }, "message 0 differs"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bag()
			tc.damage(b)
			r := bagdiff.Compare(bag(), b)
			switch err := r.Err(); {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want a difference with %q", err, tc.want)
			}
		})
	}
}

func TestTiming(t *testing.T) {
	t.Parallel()
	late := bag()
	for i := range late["/t"].Messages {
		m := &late["/t"].Messages[i]
		m.Time = m.Time.Add(time.Hour) // a constant shift is no error
	}
	late["/t"].Messages[2].Time = late["/t"].Messages[2].Time.Add(3 * time.Millisecond)
	r := bagdiff.Compare(bag(), late)
	if r.Percentile(0.5) != 0 || r.Percentile(1) != 3*time.Millisecond {
		t.Errorf("p50 %v, max %v; want 0 and 3ms", r.Percentile(0.5), r.Percentile(1))
	}
}
