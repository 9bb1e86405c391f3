package msgtypes

import (
	"errors"
	"fmt"
	"strings"
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

// TestCache: connections of one definition share a type; a bag with endless definitions fills no memory.
func TestCache(t *testing.T) {
	t.Parallel()
	var c Cache
	a, err := c.Of(conn("a/B", "1", "int32 x"))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := c.Of(conn("a/B", "1", strings.Clone("int32 x"))); a != b || err != nil {
		t.Errorf("parsed twice: %p, %p, %v", a, b, err)
	}
	if b, err := c.Of(conn("a/B", "1", "int32 y")); a == b || err != nil {
		t.Errorf("another definition: %p, %v", b, err)
	}
	for i := range 4 * maxTypes {
		_, _ = c.Of(conn(fmt.Sprint("a/", i), "1", "#"+strings.Repeat("x", 100_000))) // some are in the cache
		if len(c.types) > maxTypes || c.bytes > maxBytes {
			t.Fatalf("%d types of %d bytes", len(c.types), c.bytes)
		}
	}
}
