package diff_test

import (
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/internal/bags/diff"
	"github.com/gorosbag/gorosbag/internal/bags/diff/report"
	"github.com/gorosbag/gorosbag/rosbag"
)

// conn is a connection of a node with some fields.
func conn(node string, fields ...string) *rosbag.Connection {
	h := rosbag.Header{{Key: "callerid", Value: node}, {Key: "type", Value: "std_msgs/String"}}
	for i := 0; i < len(fields); i += 2 {
		h = append(h, rosbag.Field{Key: fields[i], Value: fields[i+1]})
	}
	return &rosbag.Connection{Topic: "/t", Header: h}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	type conns []*rosbag.Connection
	tests := map[string]struct {
		a, b       conns
		publishers bool
		want       []report.Header
	}{
		"same":                  {conns{conn("/n")}, conns{conn("/m")}, false, nil},
		"a default":             {conns{conn("/n", "latching", "0")}, conns{conn("/n")}, false, nil},
		"the topic's own name":  {conns{conn("/n", "topic", "/t")}, conns{conn("/n")}, false, nil},
		"a field":               {conns{conn("/n", "latching", "1")}, conns{conn("/n")}, false, []report.Header{{Field: "latching", A: "1", B: "0"}}},
		"a field more":          {conns{conn("/n")}, conns{conn("/n", "x", "y")}, false, []report.Header{{Field: "x", A: "absent", B: "y"}}},
		"a line":                {conns{conn("/n", "message_definition", "a\nb")}, conns{conn("/n", "message_definition", "a\nc")}, false, []report.Header{{Field: "message_definition, line 2", A: "b", B: "c"}}},
		"a definition less":     {conns{conn("/n", "message_definition", "a\nb")}, conns{conn("/n")}, false, []report.Header{{Field: "message_definition", A: "3 bytes", B: "absent"}}},
		"a definition more":     {conns{conn("/n")}, conns{conn("/n", "message_definition", "a")}, false, []report.Header{{Field: "message_definition", A: "absent", B: "1 bytes"}}},
		"a longer definition":   {conns{conn("/n", "message_definition", "a")}, conns{conn("/n", "message_definition", "a\nb")}, false, []report.Header{{Field: "message_definition, line 2", A: "end of the definition", B: "b"}}},
		"a connection more":     {conns{conn("/n")}, conns{conn("/n"), conn("/n", "latching", "1")}, false, []report.Header{{OnlyIn: "B", Field: "latching", A: "0", B: "1"}}},
		"of one publisher":      {conns{conn("/n"), conn("/m")}, conns{conn("/n"), conn("/m", "latching", "1")}, true, []report.Header{{Publisher: "/m", Field: "latching", A: "0", B: "1"}}},
		"a publisher not heard": {conns{conn("/n"), conn("/m")}, conns{conn("/n")}, true, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := diff.CompareHeaders(tc.a, tc.b, tc.publishers); !slices.Equal(got, tc.want) {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}
