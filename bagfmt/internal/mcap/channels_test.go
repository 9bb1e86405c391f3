package mcap_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt/internal/mcap"
	"github.com/gorosbag/gorosbag/internal/testkit/mcapfile"
	"github.com/gorosbag/gorosbag/rosbag"
)

// known returns the channels of a file: 1 to 8 are of ROS 1, 9 is of another encoding, 10 has a schema that is missing.
func known(t *testing.T, keepForeign bool) *mcap.Channels {
	t.Helper()
	c := &mcap.Channels{KeepForeign: keepForeign}
	err := c.AddSchema(mcapfile.Fields(uint16(1), "std_msgs/String", "ros1msg", "string data\n"), 50)
	for id := uint16(1); id <= 10; id++ {
		encoding, schema := "ros1", uint16(1)
		switch id {
		case 9:
			encoding, schema = "json", 0
		case 10:
			schema = 2
		}
		metadata := mcapfile.Fields("latching", "true", "callerid", "/n", "a=b", "x")
		err = errors.Join(err, c.AddChannel(mcapfile.Fields(id, schema, fmt.Sprintf("/t%d", id), encoding, string(metadata)), 60))
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestConnectionsOfChannels: what connections become of channels, and what is said about the others.
func TestConnectionsOfChannels(t *testing.T) {
	t.Parallel()
	c := known(t, false)
	conn, err := c.Connection(3)
	want := &rosbag.Connection{ID: 3, Topic: "/t3", Header: rosbag.Header{
		{Key: "topic", Value: "/t3"},
		{Key: "type", Value: "std_msgs/String"},
		{Key: "md5sum", Value: "992ce8a1687cec8c8bd883ec73ca41d1"},
		{Key: "message_definition", Value: "string data\n"},
		{Key: "callerid", Value: "/n"},
		{Key: "latching", Value: "1"},
	}}
	if d := cmp.Diff(want, conn); d != "" || err != nil {
		t.Errorf("%v, %s", err, d)
	}
	if id, schema, missing := c.Incomplete(); id != 10 || schema != 2 || !missing {
		t.Errorf("channel %d lacks schema %d: %v", id, schema, missing)
	}
	for _, used := range []bool{false, true} {
		list, wrong := c.Connections(func(uint16) bool { return used })
		texts := fmt.Sprint(wrong)
		if len(list) != 8 || !slices.IsSortedFunc(list, func(a, b *rosbag.Connection) int { return int(a.ID) - int(b.ID) }) ||
			!strings.Contains(texts, `channel 10, topic "/t10", has the schema 2, which is missing`) || strings.Contains(texts, "json") != used {
			t.Errorf("used %v: %d connections, %s", used, len(list), texts)
		}
	}
	var encoding *rosbag.EncodingError
	if _, err := c.Connection(9); !errors.As(err, &encoding) || encoding.Topic != "/t9" || !c.Foreign(9) || c.Foreign(3) {
		t.Errorf("%v", err)
	}
	if conn, err := known(t, true).Connection(9); err != nil || conn.Header[2].Value != "json" {
		t.Errorf("kept: %v, %v", conn, err)
	}
	if conn, err := c.Connection(11); conn != nil || err != nil || c.Known(11) || !c.Known(10) {
		t.Errorf("a channel that is not there: %v, %v", conn, err)
	}
}

// TestContradictions: a schema or channel may come again, but not with other content.
func TestContradictions(t *testing.T) {
	t.Parallel()
	c := known(t, false)
	many := slices.Repeat([]any{"k", "v"}, 257)
	for want, err := range map[string]error{
		"<nil>": c.AddSchema(mcapfile.Fields(uint16(1), "std_msgs/String", "ros1msg", "string data\n"), 70),
		`connection at 71: schema 1 is "std_msgs/String"`:        c.AddSchema(mcapfile.Fields(uint16(1), "std_msgs/String", "ros1msg", "int8 data\n"), 71),
		`connection at 72: schema "a/A" has the id 0`:            c.AddSchema(mcapfile.Fields(uint16(0), "a/A", "ros1msg", ""), 72),
		`connection at 73: channel 1 is "/t1" and "/u"`:          c.AddChannel(mcapfile.Fields(uint16(1), uint16(1), "/u", "ros1", ""), 73),
		"connection at 74: metadata of channel 20 ends inside":   c.AddChannel(mcapfile.Fields(uint16(20), uint16(1), "/u", "ros1", "\x01"), 74),
		"connection at 75: metadata of channel 20 has more than": c.AddChannel(mcapfile.Fields(uint16(20), uint16(1), "/u", "ros1", string(mcapfile.Fields(many...))), 75),
	} {
		if got := fmt.Sprint(err); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if c.Known(20) {
		t.Error("a channel with bad metadata is known")
	}
}

// TestCompare: statistics that count other messages than were found are an error, which names at most five channels.
func TestCompare(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stated *rosbag.MCAPCounts
		want   string
	}{
		"equal":         {&rosbag.MCAPCounts{Messages: 3, Channels: map[rosbag.ConnID]uint64{1: 1, 2: 2}}, "<nil>"},
		"only the sum":  {&rosbag.MCAPCounts{Messages: 3}, "<nil>"},
		"another sum":   {&rosbag.MCAPCounts{Messages: 4}, "record at 80: 3 messages were found, the statistics know of 4"},
		"the same sum":  {&rosbag.MCAPCounts{Messages: 3, Channels: map[rosbag.ConnID]uint64{1: 2, 2: 1}}, "know of 3: 1 of 2 of /t1, 2 of 1 of /t2"},
		"more channels": {&rosbag.MCAPCounts{Messages: 9, Channels: map[rosbag.ConnID]uint64{1: 1, 2: 2, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1, 8: 1}}, "know of 9: 0 of 1 of /t3, 0 of 1 of /t4, 0 of 1 of /t5, 0 of 1 of /t6, 0 of 1 of /t7, and of 1 more channels"},
	} {
		var f mcap.Found
		f.Add(2, 2)
		f.Add(1, 1)
		if got := fmt.Sprint(f.Compare(tc.stated, known(t, false), 80)); !strings.HasSuffix(got, tc.want) {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
