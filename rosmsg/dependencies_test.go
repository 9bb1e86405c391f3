package rosmsg_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/rosmsg"
)

func TestDependencies(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("=", 80) + "\n"
	typ, err := rosmsg.Parse("p/A", "C[2] c\nB b\nB[] more\nHeader header\nstring s\n"+
		line+"MSG: p/B\nC c\n"+line+"MSG: p/C\nbool x\n"+line+"MSG: p/Unused\nbool x\n"+
		line+"MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range typ.Dependencies() {
		names = append(names, d.Name())
	}
	if diff := cmp.Diff([]string{"p/C", "p/B", "std_msgs/Header"}, names); diff != "" {
		t.Error(diff)
	}
}
