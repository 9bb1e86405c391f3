package wording_test

import (
	"math"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestTime(t *testing.T) {
	t.Parallel()
	for in, want := range map[rosbag.Time]string{
		{}:                             "0.000000000",
		{Sec: 1, Nsec: 2}:              "1.000000002",
		{Sec: 7, Nsec: 1e9}:            "8.000000000",
		{Sec: 7, Nsec: math.MaxUint32}: "11.294967295",
	} {
		if got := wording.DecimalTime(in); got != want {
			t.Errorf("%+v: %s, want %s", in, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for in, want := range map[time.Duration]string{
		0:                        "0.000000000",
		1:                        "0.000000001",
		-1:                       "-0.000000001",
		-1500 * time.Millisecond: "-1.500000000",
		math.MaxInt64:            "9223372036.854775807",
		math.MinInt64:            "-9223372036.854775808",
	} {
		if got := wording.DecimalDuration(in); got != want {
			t.Errorf("%d: %s, want %s", in, got, want)
		}
	}
}
