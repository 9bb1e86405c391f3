package query_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/query"
	"github.com/gorosbag/gorosbag/internal/text/timearg"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestTimes(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile("../../../../bagfmt/testdata/cpp_lz4.bag")
	if err != nil {
		t.Fatal(err)
	}
	r, err := bagfmt.NewReader(bytes.NewReader(good), int64(len(good)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	start, length := r.Info().Start, r.Info().End.Sub(r.Info().Start)
	after := start.Add
	at := func(text string) *timearg.Moment {
		m := new(timearg.Moment)
		if err := m.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return m
	}
	half, none := timearg.Length(time.Second/2), rosbag.Time{}
	for name, tc := range map[string]struct {
		window     timearg.Window
		start, end rosbag.Time
		pipe       string // in the error for a pipe; empty: the same as for a file
	}{
		"everything":      {timearg.Window{}, none, none, ""},
		"plain":           {timearg.Window{Start: *at("0.5"), Until: at("1")}, after(time.Second / 2), after(time.Second), "--start: where a pipe"},
		"before the bag":  {timearg.Window{Start: *at("@12.5"), Until: at("@13")}, start, rosbag.Time{Sec: 13}, ""},
		"from the end":    {timearg.Window{Start: *at("-0.5"), Until: at("-0")}, after(length - time.Second/2), r.Info().End, "--start: where a pipe"},
		"duration":        {timearg.Window{Duration: &half}, none, after(time.Second / 2), "--duration without --start: where a pipe"},
		"both":            {timearg.Window{Start: *at("0.1"), Duration: &half, Until: at("1")}, after(time.Second / 10), after(time.Second * 6 / 10), "--start: where a pipe"},
		"until the start": {timearg.Window{Until: at("0")}, none, start, "--until: where a pipe"},
		"until 1970":      {timearg.Window{Until: at("@0")}, none, rosbag.Time{Nsec: 1}, ""},
	} {
		from, to, err := query.WindowTimes(&tc.window, r)
		if err != nil || from != tc.start || to != tc.end {
			t.Errorf("%s: from %v to %v, %v; want from %v to %v", name, from, to, err, tc.start, tc.end)
		}
		if _, _, err := query.WindowTimes(&tc.window, nil); err == nil && tc.pipe != "" || err != nil && (tc.pipe == "" || !strings.HasPrefix(err.Error(), tc.pipe)) {
			t.Errorf("%s in a pipe: %v; want %q", name, err, tc.pipe)
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
		re, err := query.AnyOf([]string{"/never", tc.pattern}, tc.regex)
		if err != nil || re.MatchString(tc.name) != tc.want {
			t.Errorf("%q matches %q: %v, %v", tc.pattern, tc.name, !tc.want, err)
		}
	}
}
