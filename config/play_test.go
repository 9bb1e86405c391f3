package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/config"
)

// playDefaults are goplay's options when only a bag is given.
func playDefaults() config.Play {
	return config.Play{
		Files: []string{"x.bag"}, Rate: 1, Queue: 100, Delay: config.Seconds(200 * time.Millisecond), Hz: 100,
	}
}

func parsePlay(t *testing.T, args string) (config.Play, error) {
	t.Helper()
	var c config.Play
	err := config.Parse("goplay", config.PlayHelp, "test", strings.Fields(args), &c, config.PlayMultitoken...)
	return c, err
}

func TestPlay(t *testing.T) {
	two := config.Seconds(2 * time.Second)
	tests := map[string]struct {
		args string
		want func(*config.Play)
	}{
		"defaults":        {"x.bag", func(*config.Play) {}},
		"cluster":         {"-lq x.bag", func(c *config.Play) { c.Loop, c.Quiet = true, true }},
		"value attached":  {"-r2.5 x.bag", func(c *config.Play) { c.Rate = 2.5 }},
		"value apart":     {"x.bag -r 2 -d 0", func(c *config.Play) { c.Rate, c.Delay = 2, 0 }},
		"all short":       {"-p /f -q -i -d1 -r3 -s1.5 -u2 -l -k x.bag", playAllShort(two)},
		"abbreviations":   {"--rat=2 --dur=2 --keep --wait x.bag", func(c *config.Play) { c.Rate, c.Duration, c.KeepAlive, c.WaitForSubscribers = 2, &two, true, true }},
		"topics last":     {"x.bag --topics /a b", func(c *config.Play) { c.Topics = []string{"/a", "b"} }},
		"topics and bags": {"--topics /a b --bags x.bag y.bag", func(c *config.Play) { c.Topics, c.Files, c.Bags = []string{"/a", "b"}, nil, []string{"x.bag", "y.bag"} }},
		"clock":           {"--clock --hz 10 --queue=0 --pause x.bag", func(c *config.Play) { c.Clock, c.Hz, c.Queue, c.Pause = true, 10, 0, true }},
		"master":          {"--embedded-master x.bag", func(c *config.Play) { c.EmbeddedMaster = config.DefaultMasterAddress }},
		"master address":  {"--embedded-master=:5 x.bag", func(c *config.Play) { c.EmbeddedMaster = ":5" }},
		"comma in a name": {"a,b.bag --bags c,d.bag", func(c *config.Play) { c.Files, c.Bags = []string{"a,b.bag"}, []string{"c,d.bag"} }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parsePlay(t, tc.args)
			if err != nil {
				t.Fatal(err)
			}
			want := playDefaults()
			tc.want(&want)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func playAllShort(u config.Seconds) func(*config.Play) {
	return func(c *config.Play) {
		c.Prefix, c.Quiet, c.Immediate, c.Loop, c.KeepAlive = "/f", true, true, true, true
		c.Delay, c.Rate, c.Start, c.Duration = config.Seconds(time.Second), 3, config.Seconds(1500*time.Millisecond), &u
	}
}

func TestPlayErrors(t *testing.T) {
	tests := map[string]string{
		"":                          "You must specify at least one bag to play back.",
		"--topics /a x.bag":         "When using --topics, --bags should be specified to list bags.",
		"-u 0 x.bag":                "Invalid duration, must be > 0.0",
		"-u -1 x.bag":               "Invalid duration, must be > 0.0",
		"-r 0 x.bag":                "--rate must be positive",
		"-r -1 x.bag":               "--rate must be positive",
		"-r nan x.bag":              "--rate must be positive",
		"-r inf x.bag":              "--rate must be positive",
		"-d -0.1 x.bag":             "--delay must be 0 or positive",
		"-s -1 x.bag":               "--start must be 0 or positive",
		"--queue -1 x.bag":          "--queue must be 0 or positive",
		"--clock --hz 0 x.bag":      "--hz must be between 0.001 and 10000",
		"--clock --hz 1e-10 x.bag":  "--hz must be between 0.001 and 10000",
		"-s nan x.bag":              "is not a number of seconds",
		"-s 5m x.bag":               "is not a number of seconds",
		"-s 1e300 x.bag":            "is longer than 292 years",
		"--rate x.bag":              "--rate",
		"--bogus x.bag":             "unrecognised option '--bogus'",
		"--queue 1 --queue x.bag":   "--queue",
		"x.bag --topics":            "the required argument for option '--topics' is missing",
		"--p x.bag":                 "is ambiguous",
		"-Z x.bag":                  "unrecognised option '-Z'",
		"--embedded-master= x.bag":  "want HOST:PORT",
		"--immediate=perhaps x.bag": "--immediate",
	}
	for args, want := range tests {
		t.Run(args, func(t *testing.T) {
			if _, err := parsePlay(t, args); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want an error with %q", err, want)
			}
		})
	}
}

func TestPlayEnvironment(t *testing.T) {
	t.Setenv("GOPLAY_RATE", "4")
	t.Setenv("GOPLAY_TOPICS", "/a,/b")
	t.Setenv("GOPLAY_DURATION", "2")
	t.Setenv("GOPLAY_LOOP", "true")
	t.Setenv("GOPLAY_EMBEDDED_MASTER", "0.0.0.0:1")
	got, err := parsePlay(t, "x.bag -r 3")
	if err != nil {
		t.Fatal(err)
	}
	want := playDefaults()
	two := config.Seconds(2 * time.Second)
	want.Rate, want.Topics, want.Duration, want.Loop, want.EmbeddedMaster = 3, []string{"/a", "/b"}, &two, true, "0.0.0.0:1"
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestSeconds(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]time.Duration{
		"0": 0, "0.2": 200 * time.Millisecond, "-1": -time.Second, "1e-9": 1,
		// float32, which stock uses, gives 100000.1015625.
		"100000.1": 100000*time.Second + 100*time.Millisecond,
	} {
		var s config.Seconds
		if err := s.UnmarshalText([]byte(in)); err != nil || time.Duration(s) != want {
			t.Errorf("%q: got %v, %v; want %v", in, time.Duration(s), err, want)
		}
	}
}
