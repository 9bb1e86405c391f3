package definitions_test

import (
	"testing"
	"testing/fstest"

	"github.com/gorosbag/gorosbag/internal/ros/msgfiles"
	"github.com/gorosbag/gorosbag/internal/ros2/definitions"
	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
)

func TestOfFolder(t *testing.T) {
	t.Parallel()
	files, err := msgfiles.New(fstest.MapFS{
		"src/my_msgs/msg/Outer.msg":         {Data: []byte("# a comment\nstd_msgs/Header header\nInner[] all\nother_msgs/msg/Leaf[<=3] leaves\nint32 X=3\n")},
		"src/my_msgs/msg/Inner.msg":         {Data: []byte("Outer2 o\nbuiltin_interfaces/Time at")},
		"src/my_msgs/msg/Outer2.msg":        {Data: []byte("string s")},
		"src/other/other_msgs/msg/Leaf.msg": {Data: []byte("float64 x")},
		"src/my_msgs/srv/Outer.srv":         {Data: []byte("string wrong")},
		"src/my_msgs/notes/Other.msg":       {Data: []byte("string wrong")},
		"install/my_msgs/msg/Twice.msg":     {Data: []byte("Inner x")},
		"src/my_msgs/msg/Twice.msg":         {Data: []byte("Inner y")},
		"src/my_msgs/msg/Uses.msg":          {Data: []byte("Twice x")},
	}, "/home/u/ws")
	if err != nil {
		t.Fatal(err)
	}
	find := definitions.OfFolder(files)
	schema, ok, err := find("my_msgs/msg/Outer")
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	m, err := mapping.New(mapping.Humble, mapping.Options{})
	if err != nil {
		t.Fatal(err)
	}
	to, err := m.To1("my_msgs/msg/Outer", schema)
	if err != nil {
		t.Fatalf("%v\n%s", err, schema)
	}
	if to.Type != "my_msgs/Outer" {
		t.Error(to.Type)
	}
	for _, name := range []string{"my_msgs/msg/Other", "a/msg/B", "", "my_msgs"} {
		if _, ok, err := find(name); ok || err != nil {
			t.Errorf("%q: %v, %v", name, ok, err)
		}
	}
	for _, name := range []string{"my_msgs/msg/Twice", "my_msgs/msg/Uses"} {
		if _, ok, err := find(name); !ok || err == nil || err.Error() != "install/my_msgs/msg/Twice.msg and src/my_msgs/msg/Twice.msg are two definitions of my_msgs/Twice" {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
}
