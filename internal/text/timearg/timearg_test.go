package timearg_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/text/timearg"
)

func TestMoment(t *testing.T) {
	t.Parallel()
	const start, end = 1000 * time.Second, 1060 * time.Second
	local := func(s string) time.Duration {
		at, err := time.ParseInLocation("2006-01-02T15:04:05", s, time.Local)
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(at.Unix()) * time.Second
	}
	tests := []struct {
		in   string
		base timearg.Base
		want time.Duration
	}{
		{"0", timearg.AfterStart, start},
		{"1.5", timearg.AfterStart, start + 1500*time.Millisecond},
		{".25", timearg.AfterStart, start + 250*time.Millisecond},
		{" 7 ", timearg.AfterStart, start + 7*time.Second},
		{"100000.000000001", timearg.AfterStart, start + 100000*time.Second + 1},
		{"1e3", timearg.AfterStart, start + 1000*time.Second},
		{"+10", timearg.AfterStart, start + 10*time.Second},
		{"+1m30s", timearg.AfterStart, start + 90*time.Second},
		{"1m30s", timearg.AfterStart, start + 90*time.Second},
		{"250ms", timearg.AfterStart, start + 250*time.Millisecond},
		{"-10s", timearg.BeforeEnd, end - 10*time.Second},
		{"-10", timearg.BeforeEnd, end - 10*time.Second},
		{"-0", timearg.BeforeEnd, end},
		{"@12.5", timearg.Since1970, 12500 * time.Millisecond},
		{"@1396293889.123456789", timearg.Since1970, 1396293889*time.Second + 123456789},
		{"2014-03-31T19:11:29.5Z", timearg.Since1970, 1396293089*time.Second + 500*time.Millisecond},
		{"2014-03-31T21:11:29+02:00", timearg.Since1970, 1396293089 * time.Second},
		{"2014-03-31T19:11:29", timearg.Since1970, local("2014-03-31T19:11:29")},
		{"2014-03-31 19:11:29.25", timearg.Since1970, local("2014-03-31T19:11:29") + 250*time.Millisecond},
		{"2014-03-31 19:11", timearg.Since1970, local("2014-03-31T19:11:00")},
	}
	for _, tc := range tests {
		var m timearg.Moment
		if err := m.UnmarshalText([]byte(tc.in)); err != nil || m.Base != tc.base {
			t.Errorf("%q: %+v, %v; want base %d", tc.in, m, err, tc.base)
			continue
		}
		if got, err := m.In(&timearg.Bags{First: start, Last: end}); got != tc.want || err != nil {
			t.Errorf("%q is %v, %v, want %v", tc.in, got, err, tc.want)
		}
		got, err := m.In(nil)
		if relative := tc.base != timearg.Since1970; (err != nil) != relative || !relative && got != tc.want {
			t.Errorf("%q in a pipe: %v, %v", tc.in, got, err)
		}
	}
}

func TestMomentErrors(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "not a time", "+": "not a time", "--1s": "not a time", "+-1": "not a time", "+1 day": "not a time",
		"now": "not a time", "inf": "not a time", "nan": "not a time", "0x10": "not a time", "1/2": "not a time",
		"@1m": "not a time", "2014-13-01T00:00:00Z": "not a time", "1e300": "not a time", "1_0": "not a time",
		"@4294967296": "from 1970 to 2106", "1969-12-31T00:00:00Z": "from 1970 to 2106", "2200-01-01T00:00:00Z": "from 1970 to 2106",
		"1748682000": "write @1748682000 for a time since 1970", "100000000.5": "write @100000000.5",
		"9999-01-01T00:00:00Z": "from 1970 to 2106",
	} {
		var m timearg.Moment
		if err := m.UnmarshalText([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v, %v; want an error with %q", in, m, err, want)
		}
	}
}

func TestMomentAtMark(t *testing.T) {
	t.Parallel()
	var m timearg.Moment
	if err := m.UnmarshalText([]byte("mark=door = open")); err != nil || m != (timearg.Moment{Base: timearg.AtMark, Mark: "door = open"}) {
		t.Fatalf("%+v, %v", m, err)
	}
	lost := errors.New("no such mark")
	b := timearg.Bags{Mark: func(string) (time.Duration, error) { return 0, lost }}
	if _, err := m.In(&b); !errors.Is(err, lost) {
		t.Error(err)
	}
	b.Mark = func(text string) (time.Duration, error) { return time.Duration(len(text)), nil }
	if at, err := m.In(&b); err != nil || at != 11 {
		t.Errorf("%v, %v", at, err)
	}
	if err := m.UnmarshalText([]byte("mark=")); err == nil || !strings.Contains(err.Error(), "names no mark") {
		t.Error(err)
	}
}

func TestSeconds(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]time.Duration{
		"0": 0, "0.2": 200 * time.Millisecond, "-1": -time.Second, "1e-9": 1, "1m30s": 90 * time.Second, "-5ms": -5 * time.Millisecond,
		// float32, which stock uses, gives 100000.1015625.
		"0.0": 0, "0e5": 0, "0ms": 0,
		"100000.1": 100000*time.Second + 100*time.Millisecond,
	} {
		var s timearg.Seconds
		if err := s.UnmarshalText([]byte(in)); err != nil || time.Duration(s) != want {
			t.Errorf("%q: got %v, %v; want %v", in, time.Duration(s), err, want)
		}
	}
	for in, want := range map[string]string{
		"nan": "want a number of seconds", "inf": "want a number of seconds", "": "want a number of seconds",
		"5 minutes": "want a number of seconds", "1e300": "longer than 292 years", "1e999": "longer than 292 years",
		"1e-10": "shorter than a nanosecond", "0.0000000001": "shorter than a nanosecond", "0.1ns": "shorter than a nanosecond", "-1e-10": "shorter than a nanosecond",
	} {
		var s timearg.Seconds
		if err := s.UnmarshalText([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v; want an error with %q", in, s, err, want)
		}
	}
}
