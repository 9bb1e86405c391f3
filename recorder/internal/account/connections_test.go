package account

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestConnectionAccount: what a header is said to take beforehand is what it then counts.
func TestConnectionAccount(t *testing.T) {
	t.Parallel()
	var s Connections
	topic := &Topic{name: "/t"}
	for i, definition := range []string{"a", "a", strings.Repeat("b", 1000), "", "a", "a"} {
		h := rosbag.Header(testlink.DefinitionInfo("/t", fmt.Sprint("/p", i), definition).Header)
		if i == 5 { // only the first definition is one
			h = append(h, rosbag.Field{Key: "message_definition", Value: "a"})
		}
		before, said := s.held, s.SizeOf(h)
		c := s.Add(topic, h)
		if got := s.held - before; got != said || topic.headers != s.held {
			t.Errorf("header %d counts %d, %d was said; topic %d, all %d", i, got, said, topic.headers, s.held)
		}
		if c.Conn().ID != rosbag.ConnID(i) || topic.Find(h) != c {
			t.Errorf("header %d is connection %d, or not found", i, c.Conn().ID)
		}
	}
	s.Release(func(c *Connection) bool { return c.Conn().ID != 4 })
	if len(s.definitions) != 1 || s.definitions["a"] == nil || len(topic.conns) != 1 || s.all[0].Conn().ID != 4 {
		t.Errorf("%d definitions, %d connections", len(s.definitions), len(topic.conns))
	}
	s.Release(func(*Connection) bool { return true })
	if s.held != 0 || topic.headers != 0 || len(s.definitions) != 0 {
		t.Errorf("%d bytes are left", s.held)
	}
	if c := s.Add(topic, rosbag.Header{{Key: "ab", Value: "cde"}, {Key: "f"}}); c.Conn().ID != 6 || c.Bytes() != 4+len("ab=cde")+4+len("f=") {
		t.Errorf("id %d is used again, or %d bytes of a record", c.Conn().ID, c.Bytes())
	}
}
