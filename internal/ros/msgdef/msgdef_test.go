package msgdef_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

const (
	twistMD5  = "9f195f881246fdfa2798d1d3eebca84a"
	stringMD5 = "992ce8a1687cec8c8bd883ec73ca41d1"
	ownMD5    = "d053817de0764f9ee90dbc89c4cdd751" // of ownFields with std_msgs/Header of noetic
	ownFields = "Header header\nfloat64 value"
)

var rule = "\n" + strings.Repeat("=", 80) + "\n"

const (
	vector3 = "MSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z"
	header  = "MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id"
)

// TestParse checks which definition is used.
func TestParse(t *testing.T) {
	t.Parallel()
	twist := "Vector3 linear\nVector3 angular"
	for _, tt := range []struct {
		name                    string
		typ, md5sum, definition string
		complete                string // the definition for others; empty: the one given
		replaced                string // a part of the text
		md5                     string // of the type; empty: the one given
		err                     error
	}{
		{name: "good", typ: "geometry_msgs/Twist", md5sum: twistMD5, definition: twist + rule + vector3},
		{name: "own", typ: "a/B", md5sum: ownMD5, definition: ownFields + rule + header},
		{name: "empty type of ROS", typ: "std_msgs/Empty", md5sum: rosmsg.EmptyMD5Sum},
		{name: "own empty type", typ: "a/Stop", md5sum: rosmsg.EmptyMD5Sum},
		{name: "own empty type with a comment", typ: "a/Stop", md5sum: rosmsg.EmptyMD5Sum, definition: "# stop\n"},

		{name: "empty", typ: "geometry_msgs/Twist", md5sum: twistMD5, complete: twist + "\n" + rule + vector3 + "\n", replaced: "is empty: that of ROS noetic is used"},
		{name: "space only", typ: "std_msgs/String", md5sum: stringMD5, definition: " \r\n\x00", complete: "string data\n", replaced: "is empty"},
		{name: "empty, any md5sum", typ: "std_msgs/String", md5sum: "*", complete: "string data\n", replaced: "is empty", md5: stringMD5},
		{name: "empty, no md5sum", typ: "std_msgs/String", complete: "string data\n", replaced: "is empty", md5: stringMD5},
		{name: "empty, md5sum of nothing", typ: "std_msgs/String", md5sum: rosmsg.EmptyMD5Sum, complete: "string data\n", replaced: "is empty", md5: stringMD5},
		{name: "empty, another version", typ: "std_msgs/String", md5sum: ownMD5, err: msgdef.ErrNoDefinition},
		{name: "empty, own type", typ: "a/B", md5sum: ownMD5, err: msgdef.ErrNoDefinition},
		{name: "empty, own type, any md5sum", typ: "a/B", md5sum: "*", err: msgdef.ErrNoDefinition},

		{name: "lacks a part", typ: "geometry_msgs/Twist", md5sum: twistMD5, definition: twist + "\n", complete: twist + rule + vector3, replaced: "lacks geometry_msgs/Vector3: that of"},
		{name: "own type lacks a part", typ: "a/B", md5sum: ownMD5, definition: ownFields, complete: ownFields + rule + header, replaced: "lacks std_msgs/Header"},
		{name: "own type lacks a part, any md5sum", typ: "a/B", md5sum: "*", definition: ownFields, complete: ownFields + rule + header, replaced: "lacks std_msgs/Header", md5: ownMD5},
		{name: "own type lacks a part of another version", typ: "a/B", md5sum: stringMD5, definition: ownFields, err: rosmsg.ErrDefinition},
		{name: "own type lacks an unknown part", typ: "a/B", md5sum: ownMD5, definition: "c/D d", err: rosmsg.ErrDefinition},
		{name: "own type with an empty part", typ: "a/B", md5sum: ownMD5, definition: ownFields + rule + "MSG: std_msgs/Header\n", complete: ownFields + rule + header + "\n", replaced: "parts of its definition"},
		{name: "own type with a part that is not of ROS", typ: "a/B", md5sum: stringMD5, definition: ownFields + rule + "MSG: std_msgs/Header\nint8 x", md5: "a8ae047bbf9f7be26c101789f3116499"},

		{name: "another text", typ: "std_msgs/String", md5sum: stringMD5, definition: "# see std_msgs", complete: "string data\n", replaced: "another md5sum"},
		{name: "no text of ROS", typ: "std_msgs/String", md5sum: stringMD5, definition: "module std_msgs { };", complete: "string data\n", replaced: "errors"},
		{name: "no text of ROS, any md5sum", typ: "std_msgs/String", md5sum: "*", definition: "module std_msgs { };", complete: "string data\n", replaced: "errors", md5: stringMD5},
		{name: "no text of ROS, own type", typ: "a/B", md5sum: stringMD5, definition: "module std_msgs { };", err: rosmsg.ErrDefinition},
		{name: "another version than noetic", typ: "std_msgs/String", md5sum: "ce1dbad6a5ad2ef5dd0e5d1ccbd2a5ee", definition: "string data\nint8 n", md5: "71fea4c88445c16abd4ee11209ebecfb"},

		{name: "bent", typ: "geometry_msgs/Twist", md5sum: twistMD5, definition: twist + rule + "\n" + vector3 + "\x00", complete: twist + rule + vector3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			typ, err := msgdef.Parse(tt.typ, tt.md5sum, tt.definition)
			if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if complete := msgdef.Complete(tt.typ, tt.md5sum, tt.definition); tt.err != nil {
				if complete != tt.definition {
					t.Errorf("completed to %q", complete)
				}
				return
			} else if complete != typ.Definition {
				t.Errorf("Complete %q, Parse %q", complete, typ.Definition)
			}
			want := tt.complete
			if want == "" {
				want = tt.definition
			}
			if typ.Definition != want {
				t.Errorf("definition %q, want %q", typ.Definition, want)
			}
			if (typ.Replaced == "") != (tt.replaced == "") || !strings.Contains(typ.Replaced, tt.replaced) {
				t.Errorf("replaced: %q, want %q", typ.Replaced, tt.replaced)
			}
			if again, err := rosmsg.Parse(tt.typ, typ.Definition); err != nil || again.MD5Sum() != typ.MD5Sum() {
				t.Errorf("the definition is not that of the type: %v", err)
			}
			if md5 := typ.MD5Sum(); md5 != tt.md5sum && md5 != tt.md5 {
				t.Errorf("md5sum %s", md5)
			}
		})
	}
}

func conn(name, md5sum, definition string) *rosbag.Connection {
	return &rosbag.Connection{Header: rosbag.Header{
		{Key: "type", Value: name}, {Key: "md5sum", Value: md5sum}, {Key: "message_definition", Value: definition},
	}}
}

// TestCache: connections of one definition share a type.
func TestCache(t *testing.T) {
	t.Parallel()
	var c msgdef.Cache
	a, err := c.Of(conn("std_msgs/String", stringMD5, ""))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := c.Of(conn("std_msgs/String", strings.Clone(stringMD5), "")); a != b || err != nil {
		t.Errorf("parsed twice: %p, %p, %v", a, b, err)
	}
	for range 2 {
		if b, err := c.Of(conn("std_msgs/String", ownMD5, "")); b != nil || !errors.Is(err, msgdef.ErrNoDefinition) {
			t.Errorf("another md5sum: %p, %v", b, err)
		}
	}
}

func TestDefinitionOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ definition, want string }{
		{"", "string data\n"}, {"\n", "string data\n"}, {"string data # x", "string data # x"}, {"wrong", "wrong"},
	} {
		if got := msgdef.DefinitionOf(conn("std_msgs/String", stringMD5, tt.definition).Header); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.definition, got, tt.want)
		}
	}
}

// FuzzParse: a type that is made of anything has a definition that makes it again.
func FuzzParse(f *testing.F) {
	f.Add("geometry_msgs/Twist", twistMD5, "")
	f.Add("a/B", ownMD5, ownFields)
	f.Add("a/B", ownMD5, ownFields+rule+"MSG: std_msgs/Header\n")
	f.Add("std_msgs/String", stringMD5, "module std_msgs { };")
	f.Add("a/B", "*", "Header h\ngeometry_msgs/Twist t\nU u\n===\n\nMSG: b/U\nint8 a\x00")
	f.Fuzz(func(t *testing.T, name, md5sum, definition string) {
		typ, err := msgdef.Parse(name, md5sum, definition)
		if err != nil {
			if !errors.Is(err, msgdef.ErrNoDefinition) && !errors.Is(err, rosmsg.ErrDefinition) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		if again, err := rosmsg.Parse(name, typ.Definition); !errors.Is(err, rosmsg.ErrLimit) && (err != nil || again.MD5Sum() != typ.MD5Sum()) {
			t.Fatalf("%q, made of %q, is not the type: %v", typ.Definition, definition, err)
		}
	})
}
