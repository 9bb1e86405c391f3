package rosbag_test

import (
	"math"
	"testing"

	"github.com/gorosbag/gorosbag/rosbag"
)

func TestTime(t *testing.T) {
	t.Parallel()
	one := rosbag.Time{Sec: 1, Nsec: 2}
	most := rosbag.Time{Sec: math.MaxUint32, Nsec: 999_999_999}
	if s := one.String(); s != "1.000000002" {
		t.Errorf("String() = %s", s)
	}
	if got := rosbag.TimeOf(one.Std()); got != one {
		t.Errorf("TimeOf(Std()) = %s", got)
	}
	if got := rosbag.TimeOf(rosbag.Time{}.Std().Add(-1)); !got.IsZero() {
		t.Errorf("before 1970: %s", got)
	}
	if got := rosbag.TimeOf(most.Std().Add(1)); got != most {
		t.Errorf("after 2106: %s", got)
	}
	if got := one.Add(-3e9); !got.IsZero() {
		t.Errorf("1.000000002 - 3 s = %s", got)
	}
	if got := one.Add(math.MinInt64); !got.IsZero() {
		t.Errorf("1.000000002 - 292 years = %s", got)
	}
	if got := one.Add(999_999_998); got != (rosbag.Time{Sec: 2}) {
		t.Errorf("1.000000002 + 999999998 ns = %s", got)
	}
	if got := one.Add(math.MaxInt64); got != most {
		t.Errorf("1.000000002 + 292 years = %s", got)
	}
	if d := one.Sub(rosbag.Time{Sec: 2, Nsec: 1}); d != -999_999_999 {
		t.Errorf("Sub = %d", d)
	}
	if !one.Before(most) || one.Compare(rosbag.Time{Sec: 1, Nsec: 2}) != 0 || most.Compare(one) != 1 {
		t.Error("Compare is wrong")
	}
}
