package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/moment"
)

// playDefaults are goplay's options when only a bag is given.
func playDefaults() config.Play {
	return config.Play{
		Files: []string{"x.bag"}, Rate: 1, Queue: 100, Delay: moment.Seconds(200 * time.Millisecond), Hz: 100,
		PlaySelect:  config.PlaySelect{Order: "received", OrderReach: moment.Seconds(time.Second), MaxChunk: 512 << 20, LinkTimeout: moment.Seconds(2 * time.Second)},
		PlaySteer:   config.PlaySteer{Overflow: "auto", Stamps: "recorded"},
		ROS:         config.ROS{AllowRemoteShutdown: true},
		PlayControl: config.PlayControl{RateControlMaxDelay: moment.Seconds(time.Second)},
	}
}

func parsePlay(t *testing.T, args string) (config.Play, error) {
	t.Helper()
	var c config.Play
	err := config.Parse("goplay", config.PlayHelp, "test", strings.Fields(args), &c, config.PlayMultitoken...)
	return c, err
}

func TestPlay(t *testing.T) {
	two := moment.Length(2 * time.Second)
	tests := map[string]struct {
		args string
		want func(*config.Play)
	}{
		"defaults":        {"x.bag", func(*config.Play) {}},
		"steer":           {"--loop=shift --skip-empty 2 --overflow block --pause-topics /a b --bags x.bag", playSteer},
		"loop, bare":      {"--loop x.bag", func(c *config.Play) { c.Loop.On = true }},
		"cluster":         {"-lq x.bag", func(c *config.Play) { c.Loop.On, c.Quiet = true, true }},
		"value attached":  {"-r2.5 x.bag", func(c *config.Play) { c.Rate = 2.5 }},
		"value apart":     {"x.bag -r 2 -d 0", func(c *config.Play) { c.Rate, c.Delay = 2, 0 }},
		"all short":       {"-p /f -q -i -d1 -r3 -s1.5 -u2 -l -k x.bag", playAllShort(two)},
		"abbreviations":   {"--que=2 --dur=2 --keep --wait x.bag", func(c *config.Play) { c.Queue, c.Duration, c.KeepAlive, c.WaitForSubscribers = 2, &two, true, true }},
		"topics last":     {"x.bag --topics /a b", func(c *config.Play) { c.Topics = []string{"/a", "b"} }},
		"topics and bags": {"--topics /a b --bags x.bag y.bag", func(c *config.Play) { c.Topics, c.Files, c.Bags = []string{"/a", "b"}, nil, []string{"x.bag", "y.bag"} }},
		"clock":           {"--clock --hz 10 --queue=0 --pause x.bag", func(c *config.Play) { c.Clock, c.Hz, c.Queue, c.Pause = true, 10, 0, true }},
		"master":          {"--embedded-master x.bag", func(c *config.Play) { c.EmbeddedMaster = config.DefaultMasterAddress }},
		"master address":  {"--embedded-master=:5 x.bag", func(c *config.Play) { c.EmbeddedMaster = ":5" }},
		"stock's list":    {"--clock --try-future-version --wait-for-subscribers x.bag", func(c *config.Play) { c.Clock, c.TryFutureVersion, c.WaitForSubscribers = true, true, true }},
		"times":           {"-s -10s --until @12.5 -u 1m30s x.bag", playTimes},
		"what":            {"-x /b -x c* --type sensor_msgs/* --topics /a --bags x.bag", playWhat},
		"expressions":     {"-e -x /b{1,2} x.bag", func(c *config.Play) { c.Regex, c.Exclude = true, []string{"/b{1,2}"} }},
		"names":           {"--rename /a=/b --rename c*=d* --respect x.bag", func(c *config.Play) { c.Rename, c.RespectPublishers = []string{"/a=/b", "c*=d*"}, true }},
		"wait":            {"--wait-for /a --wait-for b --wait-t 5 --dry x.bag", playWait},
		"order":           {"--order header --order-reach 5 x.bag", func(c *config.Play) { c.Order, c.OrderReach = "header", moment.Seconds(5*time.Second) }},
		"stamps":          {"--stamps now --clock --loop=shift x.bag", func(c *config.Play) { c.Stamps, c.Clock, c.Loop = "now", true, config.Loop{On: true, Shift: true} }},
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
			if d := cmp.Diff(want, got, cmpopts.IgnoreTypes(config.Common{})); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func playAllShort(u moment.Length) func(*config.Play) {
	return func(c *config.Play) {
		c.Prefix, c.Quiet, c.Immediate, c.Loop.On, c.KeepAlive = "/f", true, true, true, true
		c.Delay, c.Rate, c.Start, c.Duration = moment.Seconds(time.Second), 3, moment.Moment{At: 1500 * time.Millisecond}, &u
	}
}

func playSteer(c *config.Play) {
	c.Loop = config.Loop{On: true, Shift: true}
	c.SkipEmpty, c.PauseTopics, c.Overflow = moment.Seconds(2*time.Second), []string{"/a", "b"}, "block"
	c.Files, c.Bags = nil, []string{"x.bag"}
}

func playTimes(c *config.Play) {
	length := moment.Length(90 * time.Second)
	c.Start = moment.Moment{Base: moment.BeforeEnd, At: 10 * time.Second}
	c.Until = &moment.Moment{Base: moment.Since1970, At: 12500 * time.Millisecond}
	c.Duration = &length
}

func playWhat(c *config.Play) {
	c.Files, c.Bags = nil, []string{"x.bag"}
	c.Topics, c.Exclude, c.Type = []string{"/a"}, []string{"/b", "c*"}, []string{"sensor_msgs/*"}
}

func playWait(c *config.Play) {
	c.WaitFor, c.WaitTimeout, c.DryRun = []string{"/a", "b"}, moment.Seconds(5*time.Second), true
}

// Every option of rosbag play is there, with its letter, and what is short for it in
// stock is so in ours, whatever we add.
func TestPlayHasStocksOptions(t *testing.T) {
	t.Parallel()
	k, err := kong.New(new(config.Play), kong.Vars{"version": "", "master": "", "http": ""})
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]*kong.Flag{}
	for _, f := range k.Model.Flags {
		flags[f.Name] = f
	}
	letters := map[string]string{}
	for _, option := range strings.Fields("h:help p:prefix q:quiet i:immediate pause queue clock hz d:delay r:rate s:start u:duration skip-empty " +
		"l:loop k:keep-alive try-future-version topics pause-topics bags wait-for-subscribers rate-control-topic rate-control-max-delay") {
		short, name, ok := strings.Cut(option, ":")
		if !ok {
			short, name = "", short
		}
		letters[name] = short
	}
	for name, short := range letters {
		switch f := flags[name]; {
		case f == nil:
			t.Errorf("--%s is missing", name)
			continue
		case !f.Tag.Has("stock") && name != "help":
			t.Errorf("--%s has no tag stock", name)
		case short != "" && string(f.Short) != short:
			t.Errorf("--%s has the letter %q, want %s", name, f.Short, short)
		}
		for end := 1; end < len(name); end++ {
			means := 0
			for other := range letters {
				if strings.HasPrefix(other, name[:end]) {
					means++
				}
			}
			if means > 1 || name[:end] == "wait-for" {
				continue // not clear in stock either, or the name of an option of ours
			}
			args, err := config.Expand([]string{"--" + name[:end], "1"}, k)
			if err != nil || !strings.HasPrefix(args[0]+"=", "--"+name+"=") {
				t.Errorf("--%s is %v, %v; want --%s", name[:end], args, err, name)
			}
		}
	}
}

func TestPlayWindow(t *testing.T) {
	t.Parallel()
	const first, last = 1396293889 * time.Second, 1396293949 * time.Second // 60 s
	tests := []struct {
		args          string
		start, length time.Duration
		wantErr       string
	}{
		{"", 0, 0, ""},
		{"-s 1.5 -u 2", 1500 * time.Millisecond, 2 * time.Second, ""},
		{"-s -10s", 50 * time.Second, 0, ""},
		{"-s -2m", 0, 0, ""},
		{"-s @1396293899.5", 10500 * time.Millisecond, 0, ""},
		{"-s @1396293899", 10 * time.Second, 0, ""},
		{"-s @12", 0, 0, ""},
		{"-s 99999999", 99999999 * time.Second, 0, ""},
		{"--until 20", 0, 20 * time.Second, ""},
		{"-s 5 --until 20", 5 * time.Second, 15 * time.Second, ""},
		{"-s 5 --until 20 -u 10", 5 * time.Second, 10 * time.Second, ""},
		{"-s 5 --until 20 -u 1m", 5 * time.Second, 15 * time.Second, ""},
		{"-s -20s --until -5s", 40 * time.Second, 15 * time.Second, ""},
		{"--until 2014-03-31T19:24:59Z", 0, 10 * time.Second, ""},
		{"--until 2014-03-31T19:24:39Z", 0, 0, "--until is 10s before the earliest message"},
		{"--end 20", 0, 20 * time.Second, ""},
		{"-s 20 --until 5", 0, 0, "--until is 15s before --start"},
		{"-s 20 --until 20", 0, 0, "--until is 0s before --start"},
	}
	for _, tc := range tests {
		t.Run(tc.args, func(t *testing.T) {
			t.Parallel()
			c, err := parsePlay(t, tc.args+" x.bag")
			if err != nil {
				t.Fatal(err)
			}
			start, length, err := c.Part(&moment.Bags{First: first, Last: last})
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("got %v, want an error with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil || start != tc.start || length != tc.length {
				t.Errorf("%v for %v, %v; want %v for %v", start, length, err, tc.start, tc.length)
			}
		})
	}
}

func TestPlayErrors(t *testing.T) {
	tests := map[string]string{
		"":                                      "You must specify at least one bag to play back.",
		"--topics /a x.bag":                     "When using --topics, --bags should be specified to list bags.",
		"-u 0 x.bag":                            "Invalid duration, must be > 0.0",
		"-u -1 x.bag":                           "Invalid duration, must be > 0.0",
		"-r 0 x.bag":                            "--rate 0: want a factor from 1e-06 to 1e+09",
		"-r -1 x.bag":                           "--rate -1: want a factor from 1e-06 to 1e+09",
		"-r nan x.bag":                          "--rate NaN: want a factor from 1e-06 to 1e+09",
		"-r 1e-308 x.bag":                       "--rate 1e-308: want a factor from 1e-06 to 1e+09",
		"-r inf x.bag":                          "--rate +Inf: want a factor from 1e-06 to 1e+09",
		"-d -0.1 x.bag":                         "--delay -100ms must be 0 or positive",
		"--queue -1 x.bag":                      "--queue -1 must be 0 or positive",
		"--clock --hz 0 x.bag":                  "--hz 0: want a frequency from 0.001 to 10000",
		"--clock --hz 1e-10 x.bag":              "--hz 1e-10: want a frequency from 0.001 to 10000",
		"-s 1396293899 x.bag":                   "write @1396293899 for a time since 1970",
		"--until 1396293899 x.bag":              "write @1396293899 for a time since 1970",
		"-u 1396293899 x.bag":                   "for the end write --until @1396293899",
		"-u @1396293899 x.bag":                  "for the end write --until @1396293899",
		"-u 2014-03-31T19:24:59Z x.bag":         "this option says how long, as in rosbag play: for the end write --until 2014-03-31T19:24:59Z",
		"-s nan x.bag":                          "is not a time",
		"-u 5fortnights x.bag":                  "is not a number of seconds",
		"-u 1e300 x.bag":                        "is longer than 292 years",
		"--until yesterday x.bag":               "--until \"yesterday\" is not a time",
		"--exclude= x.bag":                      "a topic must not be empty",
		"--order=stamp x.bag":                   "--order \"stamp\": want one of",
		"--stamps=x x.bag":                      "--stamps \"x\": want one of",
		"--stamps=clock --clock x.bag":          "--clock publishes the clock that --stamps=clock follows",
		"-i --stamps=clock x.bag":               "--immediate waits for no clock",
		"--order-reach 0 x.bag":                 "--order-reach 0s must be positive",
		"--wait-timeout 5 x.bag":                "--wait-timeout needs --wait-for or --wait-for-subscribers",
		"--wait-for /a --wait-timeout -5 x.bag": "--wait-timeout -5s must be positive",
		"--rate x.bag":                          "--rate",
		"--bogus x.bag":                         "unrecognised option '--bogus'",
		"--queue 1 --queue x.bag":               "--queue",
		"x.bag --topics":                        "the required argument for option '--topics' is missing",
		"--p x.bag":                             "is ambiguous",
		"-Z x.bag":                              "unrecognised option '-Z'",
		"--embedded-master= x.bag":              "want HOST:PORT",
		"--immediate=perhaps x.bag":             "--immediate",
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
	t.Setenv("GOPLAY_TOPICS", "/a\n/b")
	t.Setenv("GOPLAY_DURATION", "2")
	t.Setenv("GOPLAY_LOOP", "true")
	t.Setenv("GOPLAY_EMBEDDED_MASTER", "0.0.0.0:1")
	got, err := parsePlay(t, "x.bag -r 3")
	if err != nil {
		t.Fatal(err)
	}
	want := playDefaults()
	two := moment.Length(2 * time.Second)
	want.Rate, want.Topics, want.Duration, want.Loop.On, want.EmbeddedMaster = 3, []string{"/a", "/b"}, &two, true, "0.0.0.0:1"
	if d := cmp.Diff(want, got, cmpopts.IgnoreTypes(config.Common{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
