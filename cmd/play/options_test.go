package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/internal/text/timearg"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/tcpros"
)

// defaults are what goplay's options set when only a bag is given.
func defaults() *settings {
	s := new(settings)
	s.selection = selectionSettings{bags: []string{"x.bag"}, maxChunk: 512 << 20}
	s.play = player.Options{Rate: 1, Queue: 100, Delay: 200 * time.Millisecond, Hz: 100, HeaderReach: time.Second, LinkTimeout: 2 * time.Second}
	s.pace.rateMaxLead = time.Second
	s.ROS.AllowRemoteShutdown = true
	s.Log = options.Log{LogFormat: options.LogFormat{Format: "text"}, LogLevel: "info"}
	return s
}

// same compares settings with all their fields.
func same(t *testing.T, want, got *settings) {
	t.Helper()
	if d := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestPlay(t *testing.T) {
	two := timearg.Length(2 * time.Second)
	tests := map[string]struct {
		args string
		want func(*settings)
	}{
		"defaults":       {"x.bag", func(*settings) {}},
		"steer":          {"--loop=shift --skip-empty 2 --overflow block --pause-topics /a b --bags x.bag", playSteer},
		"loop, bare":     {"--loop x.bag", func(s *settings) { s.play.Loop, s.pace.loop.on = true, true }},
		"cluster":        {"-lq x.bag", func(s *settings) { s.play.Loop, s.pace.loop.on, s.control.quiet = true, true, true }},
		"value attached": {"-r2.5 x.bag", func(s *settings) { s.play.Rate = 2.5 }},
		"value apart":    {"x.bag -r 2 -d 0", func(s *settings) { s.play.Rate, s.play.Delay = 2, 0 }},
		"all short":      {"-p /f -q -i -d1 -r3 -s1.5 -u2 -l -k x.bag", playAllShort(two)},
		"abbreviations": {"--que=2 --dur=2 --keep --wait x.bag", func(s *settings) {
			s.play.Queue, s.selection.window.Duration, s.play.KeepAlive, s.play.WaitForSubscribers = 2, &two, true, true
		}},
		"topics last":     {"x.bag --topics /a b", func(s *settings) { s.play.Topics = []string{"/a", "b"} }},
		"topics and bags": {"--topics /a b --bags x.bag y.bag", func(s *settings) { s.play.Topics, s.selection.bags = []string{"/a", "b"}, []string{"x.bag", "y.bag"} }},
		"clock":           {"--clock --hz 10 --queue=0 --pause x.bag", func(s *settings) { s.play.Clock, s.play.Hz, s.play.Queue, s.play.Paused = true, 10, 0, true }},
		"master":          {"--embedded-master x.bag", func(s *settings) { s.ROS.EmbeddedMaster = "127.0.0.1:11311" }},
		"master address":  {"--embedded-master=:5 x.bag", func(s *settings) { s.ROS.EmbeddedMaster = ":5" }},
		"stock's list":    {"--clock --try-future-version --wait-for-subscribers x.bag", func(s *settings) { s.play.Clock, s.play.WaitForSubscribers = true, true }},
		"times":           {"-s -10s --until @12.5 -u 1m30s x.bag", playTimes},
		"what":            {"-x /b -x c* --type sensor_msgs/* --topics /a --bags x.bag", playWhat},
		"expressions":     {"-e -x /b{1,2} x.bag", func(s *settings) { s.play.Regex, s.play.Exclude = true, []string{"/b{1,2}"} }},
		"names":           {"--rename /a=/b --rename c*=d* --respect x.bag", func(s *settings) { s.play.Rename, s.names.respectPublishers = []string{"/a=/b", "c*=d*"}, true }},
		"wait":            {"--wait-for /a --wait-for b --wait-t 5 --dry x.bag", playWait},
		"order":           {"--order header --order-reach 5 x.bag", func(s *settings) { s.play.ByHeader, s.play.HeaderReach = true, 5*time.Second }},
		"stamps": {"--stamps now --clock --loop=shift x.bag", func(s *settings) {
			s.play.Stamps, s.play.Clock, s.play.Loop, s.play.LoopShift, s.pace.loop = player.StampsNow, true, true, true, loop{true, true}
		}},
		"comma in a name": {"a,b.bag --bags c,d.bag", func(s *settings) { s.selection.bags = []string{"a,b.bag", "c,d.bag"} }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parse(strings.Fields(tc.args))
			if err != nil {
				t.Fatal(err)
			}
			want := defaults()
			tc.want(want)
			same(t, want, got)
		})
	}
}

func playAllShort(u timearg.Length) func(*settings) {
	return func(s *settings) {
		s.play.Prefix, s.control.quiet, s.play.Immediate, s.play.Loop, s.pace.loop.on, s.play.KeepAlive = "/f", true, true, true, true, true
		s.play.Delay, s.play.Rate, s.selection.window = time.Second, 3, timearg.Window{Start: timearg.Moment{At: 1500 * time.Millisecond}, Duration: &u}
	}
}

func playSteer(s *settings) {
	s.pace.loop, s.play.Loop, s.play.LoopShift = loop{on: true, shift: true}, true, true
	s.play.SkipEmpty, s.play.PauseTopics, s.play.Overflow = 2*time.Second, []string{"/a", "b"}, player.OverflowBlock
}

func playTimes(s *settings) {
	length := timearg.Length(90 * time.Second)
	s.selection.window = timearg.Window{
		Start:    timearg.Moment{Base: timearg.BeforeEnd, At: 10 * time.Second},
		Until:    &timearg.Moment{Base: timearg.Since1970, At: 12500 * time.Millisecond},
		Duration: &length,
	}
}

func playWhat(s *settings) {
	s.play.Topics, s.play.Exclude, s.play.Types = []string{"/a"}, []string{"/b", "c*"}, []string{"sensor_msgs/*"}
}

func playWait(s *settings) {
	s.play.WaitFor, s.play.WaitTimeout, s.begin.dryRun = []string{"/a", "b"}, 5*time.Second, true
}

// Every option of rosbag play is there, with its letter, and what is short for it in
// stock is so in ours, whatever we add.
func TestPlayHasStocksOptions(t *testing.T) {
	t.Parallel()
	declared := map[string]config.Option{}
	for _, g := range new(settings).program().Groups {
		for _, o := range g.Options {
			declared[o.Name] = o
		}
	}
	letters := map[string]string{}
	for _, option := range strings.Fields("p:prefix q:quiet i:immediate pause queue clock hz d:delay r:rate s:start u:duration skip-empty " +
		"l:loop k:keep-alive try-future-version topics pause-topics bags wait-for-subscribers rate-control-topic rate-control-max-delay") {
		short, name, ok := strings.Cut(option, ":")
		if !ok {
			short, name = "", short
		}
		letters[name] = short
	}
	for name, short := range letters {
		switch o, ok := declared[name]; {
		case !ok:
			t.Errorf("--%s is missing", name)
			continue
		case !o.Stock:
			t.Errorf("--%s is not one of stock", name)
		case short != "" && o.Short != short:
			t.Errorf("--%s has the letter %q, want %s", name, o.Short, short)
		}
		for end := 1; end < len(name); end++ {
			means := 0
			for other := range letters {
				if strings.HasPrefix(other, name[:end]) {
					means++
				}
			}
			if means > 1 || name[:end] == "wait-for" || slices.Contains([]string{"h", "he", "hel"}, name[:end]) {
				continue // not clear in stock either, or the name of an option of ours
			}
			all, err := new(settings).program().Parse([]string{"--" + name[:end] + "=1", "x.bag"})
			set := slices.ContainsFunc(all.List(), func(s config.Setting) bool {
				return s.Key == strings.ReplaceAll(name, "-", "_") && s.Origin == "flag" && slices.Contains(s.Values, "1")
			})
			if !set {
				t.Errorf("--%s does not set --%s: %v", name[:end], name, err)
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
			s, err := parse(strings.Fields(tc.args + " x.bag"))
			if err != nil {
				t.Fatal(err)
			}
			start, length, err := part(&s.selection.window, &timearg.Bags{First: first, Last: last})
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
		"":                                         "You must specify at least one bag to play back.",
		"--topics /a x.bag":                        "When using --topics, --bags should be specified to list bags.",
		"-u 0 x.bag":                               "Invalid duration, must be > 0.0",
		"-u -1 x.bag":                              "Invalid duration, must be > 0.0",
		"-r 0 x.bag":                               "--rate: \"0\": want a factor from 1e-06 to 1e+09",
		"-r -1 x.bag":                              "--rate: \"-1\": want a factor from 1e-06 to 1e+09",
		"-r nan x.bag":                             "--rate: \"nan\": want a factor from 1e-06 to 1e+09",
		"-r 1e-308 x.bag":                          "--rate: \"1e-308\": want a factor from 1e-06 to 1e+09",
		"-r inf x.bag":                             "--rate: \"inf\": want a factor from 1e-06 to 1e+09",
		"-d -0.1 x.bag":                            "--delay: \"-0.1\": must be 0 or positive",
		"--queue -1 x.bag":                         "--queue: \"-1\": must be 0 or positive",
		"--clock --hz 0 x.bag":                     "--hz: \"0\": want a frequency from 0.001 to 10000",
		"--clock --hz 1e-10 x.bag":                 "--hz: \"1e-10\": want a frequency from 0.001 to 10000",
		"-s 1396293899 x.bag":                      "write @1396293899 for a time since 1970",
		"--until 1396293899 x.bag":                 "write @1396293899 for a time since 1970",
		"-u 1396293899 x.bag":                      "for the end write --until @1396293899",
		"-u @1396293899 x.bag":                     "for the end write --until @1396293899",
		"-u 2014-03-31T19:24:59Z x.bag":            "this option says how long, as in rosbag play: for the end write --until 2014-03-31T19:24:59Z",
		"-s nan x.bag":                             "not a time",
		"-u 5fortnights x.bag":                     "want a number of seconds",
		"-u 1e300 x.bag":                           "longer than 292 years",
		"-u 1e-10 x.bag":                           `"1e-10": shorter than a nanosecond`,
		"--until yesterday x.bag":                  "--until: \"yesterday\": not a time",
		"--exclude= x.bag":                         "a topic must not be empty",
		"--order=stamp x.bag":                      "--order: \"stamp\": want one of",
		"--stamps=x x.bag":                         "--stamps: \"x\": want one of",
		"--stamps=clock --clock x.bag":             "--clock publishes the clock that --stamps=clock follows",
		"-i --stamps=clock x.bag":                  "--immediate waits for no clock",
		"--order-reach 0 x.bag":                    "--order-reach: \"0\": must be positive",
		"--wait-timeout 5 x.bag":                   "--wait-timeout needs --wait-for or --wait-for-subscribers",
		"--wait-for /a --wait-timeout -5 x.bag":    "--wait-timeout: \"-5\": must be 0 or positive",
		"--rate x.bag":                             "--rate",
		"--bogus x.bag":                            "unrecognised option '--bogus'",
		"--queue 1 --queue x.bag":                  "--queue",
		"x.bag --topics":                           "the required argument for option '--topics' is missing",
		"--p x.bag":                                "is ambiguous",
		"-Z x.bag":                                 "unrecognised option '-Z'",
		"--embedded-master= x.bag":                 "want HOST:PORT",
		"--immediate=perhaps x.bag":                "--immediate",
		"--loop=0 x.bag":                           `--loop: "0": want true, false or shift`,
		"--loop=1 x.bag":                           `--loop: "1": want true, false or shift`,
		"--loop=3 x.bag":                           `--loop: "3": want true, false or shift`,
		"--wait-for /a --wait-timeout 1e-10 x.bag": "shorter than a nanosecond",
		"--skip-empty 1e-10 x.bag":                 "shorter than a nanosecond",
	}
	for args, want := range tests {
		t.Run(args, func(t *testing.T) {
			if _, err := parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
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
	got, err := parse(strings.Fields("x.bag -r 3"))
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	two := timearg.Length(2 * time.Second)
	want.play.Rate, want.play.Topics, want.selection.window.Duration, want.ROS.EmbeddedMaster = 3, []string{"/a", "/b"}, &two, "0.0.0.0:1"
	want.play.Loop, want.pace.loop.on = true, true
	same(t, want, got)
}

func TestPlayFile(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, "bags: [a.bag, b.bag]\nrate: 2\nclock: true\ntopics:\n- /tf\n")
	s, err := parse([]string{"--config=" + path})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a.bag", "b.bag"}, s.selection.bags); d != "" || s.play.Rate != 2 || !s.play.Clock || len(s.play.Topics) != 1 {
		t.Errorf("%+v", s.play)
	}
	s, err = parse([]string{"c.bag", "--config=" + path})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"c.bag"}, s.selection.bags); d != "" {
		t.Error(d)
	}
	for line, want := range map[string]string{
		"rate: 2x": `rate: "2x": want a number`, "duration: 0": "duration: \"0\": Invalid duration, must be > 0.0",
		"deny: ['']": "deny: a topic must not be empty: want a name, such as /tf",
	} {
		_, err := parse([]string{"--config=" + writeConfig(t, "bags: [a.bag]\n"+line+"\n")})
		if err == nil || !strings.HasSuffix(err.Error(), "robot.yaml:2: "+want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "robot.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLoopWords: the switch knows the same words as all others.
func TestLoopWords(t *testing.T) {
	t.Parallel()
	for word, on := range map[string]bool{"true": true, "yes": true, "Yes": true, "TRUE": true, "false": false, "no": false, "False": false} {
		if s, err := parse([]string{"x.bag", "--config", writeConfig(t, "loop: "+word+"\n")}); err != nil || s.play.Loop != on {
			t.Errorf("loop: %s: %v, %v", word, s.play.Loop, err)
		}
	}
}

// TestRateLimits: the option has the limits of player, which keeps them to itself.
func TestRateLimits(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{-1, math.Nextafter(1e-6, 0), 1e-6, 1, 1e9, math.Nextafter(1e9, 2e9), math.NaN()} {
		_, refused := parse([]string{"x.bag", fmt.Sprintf("--rate=%v", rate)})
		o := player.Options{Node: new(tcpros.Node), Bags: make([]*player.Bag, 1), Rate: rate, Queue: -1} // so that it ends early
		_, err := player.Run(t.Context(), o)
		var invalid *control.OptionError
		if !errors.As(err, &invalid) {
			t.Fatal(err)
		}
		if accepted := invalid.Option != "Rate"; (refused == nil) != accepted {
			t.Errorf("rate %g: the option says %v, player %v", rate, refused, err)
		}
	}
}
