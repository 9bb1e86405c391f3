package definitions_test

import (
	"testing"
	"testing/fstest"

	"github.com/gorosbag/gorosbag/internal/ros2/definitions"
	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
)

func TestDefinitions(t *testing.T) {
	t.Parallel()
	find, err := definitions.InDirectory(fstest.MapFS{
		"src/my_msgs/msg/Outer.msg":         {Data: []byte("# a comment\nstd_msgs/Header header\nInner[] all\nother_msgs/msg/Leaf[<=3] leaves\nint32 X=3\n")},
		"src/my_msgs/msg/Inner.msg":         {Data: []byte("Outer2 o\nbuiltin_interfaces/Time at")},
		"src/my_msgs/msg/Outer2.msg":        {Data: []byte("string s")},
		"src/other/other_msgs/msg/Leaf.msg": {Data: []byte("float64 x")},
		"src/my_msgs/srv/Outer.srv":         {Data: []byte("string wrong")},
		"src/my_msgs/notes/Other.msg":       {Data: []byte("string wrong")},
	})
	if err != nil {
		t.Fatal(err)
	}
	schema, ok := find("my_msgs/msg/Outer")
	if !ok {
		t.Fatal("not found")
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
		if _, ok := find(name); ok {
			t.Errorf("%q found", name)
		}
	}
}
