package screen_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/cmd/play/internal/screen"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	s := control.Status{Phase: control.PhasePlay, BagTime: rosbag.Time{Sec: 1396293889, Nsec: 12345000}, Position: 12345678 * time.Microsecond, Length: time.Minute}
	if d := cmp.Diff("[RUNNING]  Bag Time: 1396293889.012345   Duration: 12.345678 / 60.000000", screen.Progress(&s)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	s.Paused = true
	if got := screen.Progress(&s); !strings.HasPrefix(got, "[PAUSED ]  Bag Time: ") {
		t.Errorf("paused: %q", got)
	}
}

func TestPlayConsole(t *testing.T) {
	t.Parallel()
	phases := []control.Phase{
		control.PhaseRegister, control.PhaseDelay, control.PhaseDelay, control.PhaseWait, control.PhasePlay, control.PhasePlay,
		control.PhaseKeepAlive, control.PhaseDrain, control.PhaseDone,
	}
	lines := "Waiting 0.2 seconds after advertising topics... done.\n" +
		"Waiting for subscribers.\nFinished waiting for subscribers.\n"
	hint := "Hit space to toggle paused, or 's' to step.\n"
	tests := map[string]struct {
		whole, quiet, keys bool
		want               string
	}{
		"file":        {false, false, true, lines + "\n" + hint + "\nDone.\n"},
		"quiet":       {false, true, true, lines + hint + "Done.\n"},
		"frame":       {true, false, true, lines + "\n" + hint + "\nDone.\n"},
		"no keyboard": {false, false, false, lines + "\nDone.\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			w := writes{&b, t, tc.whole}
			p := &screen.Printer{W: w, Lines: tc.whole, Quiet: tc.quiet, Keys: tc.keys, Delay: 200 * time.Millisecond}
			for _, phase := range phases {
				p.Update(control.Status{Phase: phase})
			}
			p.Done(false)
			if d := cmp.Diff(tc.want, b.String()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// writes checks that each write is whole lines, if that is wanted.
type writes struct {
	*strings.Builder
	t     *testing.T
	whole bool
}

func (w writes) WriteString(s string) (int, error) {
	if w.whole && !strings.HasSuffix(s, "\n") {
		w.t.Errorf("not a whole line: %q", s)
	}
	return w.Builder.WriteString(s)
}

func TestPlaySummary(t *testing.T) {
	t.Parallel()
	s := control.Summary{
		Topics:   []control.TopicSummary{{Name: "/a\x1b[31m", Type: "std_msgs/String", Messages: 12, Bytes: 2048, Subscribers: 1, Dropped: 3}},
		Messages: 12, Bytes: 2048, Played: 3 * time.Second, Elapsed: 1500 * time.Millisecond,
		Timing:  control.Timing{Messages: 12, P50: 40400, P99: 100_000, Max: time.Millisecond},
		Dropped: 3, Unstamped: 4,
		Unplayable: []control.Unplayable{
			{Topic: "/x", Type: "a/B", Messages: 7, Remedy: "--rename /x:a/B=/x_B"},
		},
		Damage:      []*control.DamageError{{Messages: 5, Err: errors.New("chunk at 4117")}},
		Undelivered: errors.New("/listener takes nothing"),
	}
	want := `  messages    bytes  subscribers  dropped  topic
        12  2.0 KiB            1        3  "/a\x1b[31m" : std_msgs/String
12 messages, 2.0 KiB, 3.0 s of the bags in 1.5 s (rate 2)
late: median 40µs, 99 % below 100µs, at most 1ms
4 messages kept the recorded stamp, because the definition does not fit
lost: 3 by full queues of slow subscribers (see --queue); 7 of /x : a/B that cannot be played beside another type (add --rename /x:a/B=/x_B); at most 5 in damaged places of the bags (1); /listener takes nothing
`
	if d := cmp.Diff(want, screen.Summary(&s)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	unknown := control.DamageError{Err: errors.New("cut")}
	s = control.Summary{Damage: []*control.DamageError{&unknown}}
	if got := screen.Losses(&s); got != "an unknown number in damaged places of the bags (1)" {
		t.Errorf("where the number is unknown: %q", got)
	}
	s.Damage = append(s.Damage, &control.DamageError{Messages: 5, Err: errors.New("chunk at 4117")}, &unknown)
	if got := screen.Losses(&s); got != "at most 5 and an unknown number in damaged places of the bags (3)" {
		t.Errorf("where a part of the number is unknown: %q", got)
	}
	s.Damage = []*control.DamageError{{Err: &rosbag.EncodingError{Topic: "/json", Encoding: "json"}}}
	if got := screen.Losses(&s); got != "an unknown number of topics that are left out (1)" {
		t.Errorf("where a topic is left out: %q", got)
	}
	if got := screen.Losses(&control.Summary{UDPOnly: []string{"/l of /a", "/l of /b"}}); got != "all for subscribers that take UDPROS only (2: /l of /a, /l of /b)" {
		t.Errorf("UDPROS: %q", got)
	}
	if got := screen.Losses(&control.Summary{Refused: []string{"/l of /a"}}); got != "all for subscribers that no file descriptor was left for (1: /l of /a)" {
		t.Errorf("refused: %q", got)
	}
	if got := screen.Losses(&control.Summary{NoMaster: true}); got != "all, for the master never answered" {
		t.Errorf("without a master: %q", got)
	}
	if got := screen.Summary(&control.Summary{}); !strings.HasSuffix(got, "lost: none\n") {
		t.Errorf("nothing lost: %q", got)
	}
}
