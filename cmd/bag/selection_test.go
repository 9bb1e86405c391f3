package main

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

func TestBagTime(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile(goodBag)
	if err != nil {
		t.Fatal(err)
	}
	r, err := bagfmt.NewReader(bytes.NewReader(good), int64(len(good)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		want bagfmt.Time
		bad  bool
	}{
		"":                       {bagfmt.Time{}, false},
		"0":                      {bagfmt.Time{}, false},
		"1230660784.35":          {bagfmt.Time{Sec: 1230660784, Nsec: 350000000}, false},
		"1795225280.123456789":   {bagfmt.Time{Sec: 1795225280, Nsec: 123456789}, false},
		"1970-01-01T00:01:40Z":   {bagfmt.Time{Sec: 100}, false},
		"1970-01-01T01:00:00.5Z": {bagfmt.Time{Sec: 3600, Nsec: 5e8}, false},
		"+10s":                   {r.Start().Add(10 * time.Second), false},
		"+0.5":                   {r.Start().Add(time.Second / 2), false},
		"-1.5m":                  {r.End().Add(-90 * time.Second), false},
		"-0":                     {r.End(), false},
		"4294967296":             {bad: true},
		"1e3":                    {bagfmt.Time{Sec: 1000}, false},
		"@12.5":                  {bagfmt.Time{Sec: 12, Nsec: 5e8}, false},
		"1m30s":                  {r.Start().Add(90 * time.Second), false},
		"0x10":                   {bad: true},
		"1/2":                    {bad: true},
		"+":                      {bad: true},
		"--1s":                   {bad: true},
		"+1 day":                 {bad: true},
		"now":                    {bad: true},
		"inf":                    {bad: true},
	}
	for in, tc := range tests {
		if got, err := bagTime("--start", in, r); got != tc.want || (err != nil) != tc.bad {
			t.Errorf("%q is %v, %v; want %v", in, got, err, tc.want)
		}
	}
}

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

func TestPatterns(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern string
		regex   bool
		name    string
		want    bool
	}{
		{"/cam*", false, "/camera/image", true},
		{"/cam*", false, "/x/camera", false},
		{"/cam?", false, "/cams", true},
		{"/cam?", false, "/cam", false},
		{"/a.b", false, "/axb", false},
		{"/[a]", false, "/[a]", true},
		{"*", false, "with\nnewline", true},
		{"/a|/b", true, "/b", true},
		{"/a|/b", true, "/ab", false},
		{"/cam", true, "/camera", false},
		{"/cam.*", true, "/camera", true},
	}
	for _, tc := range tests {
		re, err := anyOf([]string{"/never", tc.pattern}, tc.regex)
		if err != nil || re.MatchString(tc.name) != tc.want {
			t.Errorf("%q matches %q: %v, %v", tc.pattern, tc.name, !tc.want, err)
		}
	}
}
