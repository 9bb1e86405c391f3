package main

import "testing"

func TestSize(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int64{
		"1": 1 << 20, "500M": 500 << 20, "500MB": 500 << 20, "2GiB": 2 << 30, "2g": 2 << 30, "7k": 7 << 10, "1T": 1 << 40,
		"": -1, "M": -1, "-1": -1, "1.5G": -1, "9999999999T": -1, "1X": -1,
	} {
		if got, err := size(in); err == nil && got != want || (err != nil) != (want < 0) {
			t.Errorf("%q is %d, %v; want %d", in, got, err, want)
		}
	}
}
