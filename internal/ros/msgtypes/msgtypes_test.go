package msgtypes

import (
	"errors"
	"testing"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

func conn(name, md5sum, definition string) *rosbag.Connection {
	return &rosbag.Connection{Header: rosbag.Header{
		{Key: "type", Value: name}, {Key: "md5sum", Value: md5sum}, {Key: "message_definition", Value: definition},
	}}
}

func TestOf(t *testing.T) {
	t.Parallel()
	var c Cache
	for name, tc := range map[string]struct {
		conn *rosbag.Connection
		want error
		text string
	}{
		"good":          {conn("a/B", "1", "int32 x"), nil, ""},
		"empty":         {conn("std_msgs/Empty", rosmsg.EmptyMD5Sum, ""), nil, ""},
		"no definition": {conn("a/B", "1", ""), ErrNoDefinition, "no message definition of a/B (md5sum 1)"},
		"unreadable":    {conn("a/B", "1", "int32"), rosmsg.ErrDefinition, ""},
	} {
		for range 2 {
			typ, err := c.Of(tc.conn)
			if !errors.Is(err, tc.want) || (typ == nil) != (tc.want != nil) || tc.text != "" && err.Error() != tc.text {
				t.Errorf("%s: %v, %v", name, typ, err)
			}
		}
	}
}
