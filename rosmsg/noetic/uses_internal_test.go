package noetic

import (
	"slices"
	"testing"
)

func TestUses(t *testing.T) {
	t.Parallel()
	got := uses("p/T", "# Other x\nHeader header # of all\nint8 A=1\nPoint[] a\ngeometry_msgs/Point b\nPoint[2] c\ntime t\nroslib/Header old\nstring s=Point x\n")
	if want := []string{"std_msgs/Header", "p/Point", "geometry_msgs/Point"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := uses("p/T", "Point a\nint8\n"); len(got) > 0 {
		t.Errorf("%v", got)
	}
}
