package account_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestConnectionAccount: what a header is said to take beforehand is what it then counts.
func TestConnectionAccount(t *testing.T) {
	t.Parallel()
	var s account.Connections
	topic := &account.Topic{Name: "/t"}
	for i, definition := range []string{"a", "a", strings.Repeat("b", 1000), "", "a", "a"} {
		h := rosbag.Header(testlink.DefinitionInfo("/t", fmt.Sprint("/p", i), definition).Header)
		if i == 5 { // only the first definition is one
			h = append(h, rosbag.Field{Key: "message_definition", Value: "a"})
		}
		before, said := s.Held, s.SizeOf(h)
		c := s.Add(topic, h)
		if got := s.Held - before; got != said || topic.Headers != s.Held {
			t.Errorf("header %d counts %d, %d was said; topic %d, all %d", i, got, said, topic.Headers, s.Held)
		}
		if c.Conn.ID != rosbag.ConnID(i) || topic.Find(h) != c {
			t.Errorf("header %d is connection %d, or not found", i, c.Conn.ID)
		}
	}
	s.Release(func(c *account.Connection) bool { return c.Conn.ID != 4 })
	if len(s.Definitions) != 1 || s.Definitions["a"] == nil || len(topic.Conns) != 1 || s.All[0].Conn.ID != 4 {
		t.Errorf("%d definitions, %d connections", len(s.Definitions), len(topic.Conns))
	}
	s.Release(func(*account.Connection) bool { return true })
	if s.Held != 0 || topic.Headers != 0 || len(s.Definitions) != 0 {
		t.Errorf("%d bytes are left", s.Held)
	}
	if c := s.Add(topic, rosbag.Header{{Key: "ab", Value: "cde"}, {Key: "f"}}); c.Conn.ID != 6 || c.Bytes != 4+len("ab=cde")+4+len("f=") {
		t.Errorf("id %d is used again, or %d bytes of a record", c.Conn.ID, c.Bytes)
	}
}
