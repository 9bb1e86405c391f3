package units_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/text/units"
)

func TestBytes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int64{"0": 0, "1": 1, "5k": 5 << 10, "3M": 3 << 20, "1G": 1 << 30, "1g": 1 << 30} {
		if n, err := units.Bytes(in); err != nil || n != want {
			t.Errorf("%q: %d, %v", in, n, err)
		}
	}
	for in, want := range map[string]string{"": "want a number of bytes", "-1": "want a number of bytes", "1T": "want a number of bytes", "99999999999G": "too large"} {
		if n, err := units.Bytes(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %d, %v, want an error with %q", in, n, err, want)
		}
	}
	if got := units.BytesText(100000 << 30); got != "100000G" {
		t.Errorf("got %s", got)
	}
}

func TestFileBytes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int64{
		"1": 1 << 20, "500M": 500 << 20, "500MB": 500 << 20, "2GiB": 2 << 30, "2g": 2 << 30, "7k": 7 << 10, "1T": 1 << 40,
		"": 0, "M": 0, "-1": 0, "0": 0, "0G": 0, "1.5G": 0, "9999999999T": 0, "1X": 0,
		"500B": 0, "500iB": 0, "B": 0,
	} {
		if got, err := units.FileBytes(in); got != want || (err != nil) != (want == 0) {
			t.Errorf("%q is %d, %v; want %d", in, got, err, want)
		}
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in      string
		want    time.Duration
		wantErr string
	}{
		{"30", 30 * time.Second, ""},
		{"1.5 s", 1500 * time.Millisecond, ""},
		{"1e0", time.Second, ""},
		{"5m", 5 * time.Minute, ""},
		{"2h", 2 * time.Hour, ""},
		{"x", 0, "Duration must start with a floating point number"},
		{"", 0, "Duration must start with a floating point number"},
		{"5x", 0, "Duration unit must be s, m, or h"},
		{"5ms", 0, "Duration unit must be s, m, or h"},
		{"0", 0, "Duration must be positive"},
		{"-3", 0, "Duration must be positive"},
		{"NaN", 0, "Duration must be positive"},
		{"1e300", 0, "longer than 292 years"},
		{"1e-9", time.Nanosecond, ""},
		{"1e-10", 0, "shorter than a nanosecond"},
		{"0.0000000000001h", 0, "shorter than a nanosecond"},
	}
	for _, tc := range tests {
		t.Run(tc.in, func(t *testing.T) {
			t.Parallel()
			d, err := units.Duration(tc.in)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("got %v, want an error with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil || d != tc.want {
				t.Errorf("got %v, %v; want %v", d, err, tc.want)
			}
		})
	}
}
