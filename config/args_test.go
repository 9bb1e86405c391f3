package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/config"
)

type model struct {
	All          bool   `short:"a"`
	BZ2          bool   `name:"bz2" short:"j"`
	OutputName   string `short:"O"`
	OutputPrefix string `short:"o"`
	Limit        int    `short:"l"`
	MaxSplits    int    `stock:""`
	MaxBytes     int
	Exclude      []string       `short:"x" sep:"none"`
	Topics       []string       `sep:"none"`
	Bags         []string       `sep:"none"`
	Master       config.Address `name:"embedded-master"`
	Files        []string       `arg:"" optional:""`
}

func newKong(t *testing.T, model any) *kong.Kong {
	t.Helper()
	k, err := kong.New(model)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestExpand(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in      string
		want    string
		wantErr string
	}{
		"nothing":                   {"", "--", ""},
		"cluster with value":        {"-ajOname /t", "--all --bz2 --output-name=name -- /t", ""},
		"short with space":          {"-O name -l 3", "--output-name=name --limit=3 --", ""},
		"short with equals":         {"-O=name", "--output-name=name --", ""},
		"long with space":           {"--limit 3 /t", "--limit=3 -- /t", ""},
		"negative value":            {"--limit -3 -l -4", "--limit=-3 --limit=-4 --", ""},
		"value that looks like one": {"-O --all", "--output-name=--all --", ""},
		"abbreviation":              {"--lim=3 --al", "--limit=3 --all --", ""},
		"ambiguous":                 {"--output x", "", "ambiguous: it could be --output-name, --output-prefix"},
		"abbreviation of stock":     {"--max 3 --max-b 4", "--max-splits=3 --max-bytes=4 --", ""},
		"unknown":                   {"--bogus", "", "unrecognised option '--bogus'"},
		"unknown short":             {"-aZ", "", "unrecognised option '-Z' in '-aZ'"},
		"missing":                   {"/t --limit", "", "the required argument for option '--limit' is missing"},
		"multitoken":                {"--topics /a /b --bags x y -a z", "--topics=/a --topics=/b --bags=x --bags=y --all -- z", ""},
		"multitoken empty":          {"--topics --bags x", "", "the required argument for option '--topics' is missing"},
		"repeat":                    {"-x a -x b", "--exclude=a --exclude=b --", ""},
		"optional value absent":     {"--embedded-master /t", "--embedded-master -- /t", ""},
		"optional value present":    {"--embedded-master=:1 /t", "--embedded-master=:1 -- /t", ""},
		"optional value aside":      {"--embedded-master :1 /t", "--embedded-master=:1 -- /t", ""},
		"optional host aside":       {"--emb robot-1.local:11311 /t", "--embedded-master=robot-1.local:11311 -- /t", ""},
		"no optional value":         {"--embedded-master (?:a|b) -a", "--embedded-master --all -- (?:a|b)", ""},
		"double dash":               {"-a -- -x", "--all -- -x", ""},
		"lone dash is a positional": {"-", "-- -", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := config.Expand(strings.Fields(tc.in), newKong(t, new(model)), "topics", "bags")
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("got %v, want an error with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Fields(tc.want), got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestExpandedFormIsReadByKong(t *testing.T) {
	t.Parallel()
	var m model
	k := newKong(t, &m)
	args, err := config.Expand(strings.Fields("-ajl -2 --embedded-master -x a,b -- -weird"), k)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Parse(args); err != nil {
		t.Fatal(err)
	}
	want := model{
		All: true, BZ2: true, Limit: -2, Exclude: []string{"a,b"},
		Master: config.DefaultMasterAddress, Files: []string{"-weird"},
	}
	if d := cmp.Diff(want, m); d != "" {
		t.Errorf("(-want +got):\n%s", d)
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
	}
	for _, tc := range tests {
		t.Run(tc.in, func(t *testing.T) {
			t.Parallel()
			var d config.Duration
			err := d.UnmarshalText([]byte(tc.in))
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("got %v, want an error with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil || time.Duration(d) != tc.want {
				t.Errorf("got %v, %v; want %v", time.Duration(d), err, tc.want)
			}
		})
	}
}
