package finding_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/finding"
)

// TestHeadlines: one line for each kind, in an order that does not change while nothing changes.
func TestHeadlines(t *testing.T) {
	t.Parallel()
	all := []finding.Finding{
		{Topic: "/gps", Kind: finding.Stamps, Cause: finding.Ahead, Offset: -time.Hour},
		{Topic: "/scan", Kind: finding.Silent, For: 3 * time.Second, Cause: finding.Broken},
		{Topic: "/cam", Kind: finding.Slow, Hz: 14.93, Want: 30, For: time.Second},
		{Topic: "/imu/data", Kind: finding.Silent, For: 41 * time.Second, Cause: finding.Gone},
		{Topic: "/odd\x1b", Kind: finding.Silent, For: time.Second, Cause: finding.Mute, Expected: true},
		{Topic: "/b", Kind: finding.Fast, Hz: 120.4, Want: 0.25, Expected: true},
	}
	slices.SortFunc(all, finding.Compare)
	got := strings.Join(finding.Headlines(all, 2), "\n")
	want := `3 topics are silent: /odd\x1b for 1 s (publisher there but mute), /imu/data for 41 s (publisher gone), and 1 more
1 topic is slow: /cam 14.9 Hz, usual 30
1 topic is too fast: /b 120 Hz, expected 0.25
the stamps of 1 topic are off: /gps 1 h ahead`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if lines := finding.Headlines(nil, 2); lines != nil {
		t.Errorf("%q without findings", lines)
	}
}

// TestAbout: durations that users compare have enough digits, and no more.
func TestAbout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{80 * time.Millisecond, "80 ms"},
		{1200 * time.Millisecond, "1.2 s"},
		{3 * time.Second, "3 s"},
		{41900 * time.Millisecond, "41 s"},
		{60 * time.Second, "1 min"},
		{185 * time.Second, "3 min 5 s"},
		{time.Hour, "1 h"},
		{130 * time.Minute, "2 h 10 min"},
		{50 * time.Hour, "2 d"},
		{56 * 365 * 24 * time.Hour, "56 years"},
	} {
		if got := finding.About(c.d); got != c.want {
			t.Errorf("%v is %q, want %q", c.d, got, c.want)
		}
	}
}

// TestExpect: what users write, and what it means.
func TestExpect(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/imu/data=100":     "/imu/data 100",
		"/camera/**=10..40": "/camera/** 10..40",
		"/map=0":            "/map 0",
		"imu=0.5":           "imu 0.5",
		"/a=1e3":            "/a 1000",
		"/a=0..5":           "/a 0..5",
		"/a":                "error", "/a=": "error", "/a=x": "error", "/a=-1": "error", "/a=NaN": "error", "/a=Inf": "error", "/a=5..": "error", "/a=..5": "error",
		"/a=9..3": "error", "/a=0..0": "error", "/a=1..NaN": "error", "/a=1e9": "error", "=5": "error", "/a b=5": "error", "/a[=5": "error", "/a=1..2..3": "error",
	} {
		e, err := finding.Expect(text)
		got := strings.Replace(e.String(), "=", " ", 1)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %s (%v), want %s", text, got, err, want)
		}
	}
}

// FuzzParseRange: what is accepted is a range, and is read again as the same.
func FuzzParseRange(f *testing.F) {
	for _, seed := range []string{"100", "10..40", "0", "1e-9..2", "..", "5..", "0x1p-2", "1_0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := finding.ParseRange(text)
		if err != nil {
			return
		}
		if !(r.Least >= 0) || math.IsInf(r.Least, 0) || !(r.Most >= r.Least) || r.Most == 0 {
			t.Errorf("%q is %+v", text, r)
		}
		if again, err := finding.ParseRange(r.String()); err != nil || again != r {
			t.Errorf("%q is %v, and again %v (%v)", text, r, again, err)
		}
	})
}

// TestSums: episodes are counted with their time, also one that goes on, and those of topics whose accounts have ended. An
// expectation counts only while it is asked for.
func TestSums(t *testing.T) {
	t.Parallel()
	e, err := finding.Expect("/want=10")
	if err != nil {
		t.Fatal(err)
	}
	w := finding.New([]finding.Expectation{e})
	gone := source{topic: "/gone", times: join(every(0.1, 0, 20), every(0.1, 30, 40))}
	stays := source{topic: "/stays", times: join(every(0.1, 0, 30), every(0.1, 40, 60))}
	want := source{topic: "/want", times: every(0.1, 0, 30)}
	for at := 0.1; at < 100; at += finding.Every.Seconds() {
		all := []source{stays, want, gone}
		if at > 60 {
			all = all[:2]
		}
		w.Look(seconds(at), seconds(at), at > 90, figures(at, all))
		if at > 89 && at < 90 {
			for _, s := range w.Sums() {
				if s.Expected {
					t.Errorf("%s counts as expected while expectations do not count", s.Topic)
				}
			}
		}
	}
	var got []string
	for _, s := range w.Sums() {
		got = append(got, strings.TrimSpace(s.Topic+" "+s.Kind.String()+" "+s.Time.Round(time.Second).String()+strings.Repeat(" open", b(s.Open))+strings.Repeat(" expected", b(s.Expected)))+strings.Repeat("!", s.Episodes))
	}
	if wants := []string{"(topics that ended) silent 10s!", "/stays silent 50s open!!", "/want silent 1m10s open expected!"}; !slices.Equal(got, wants) {
		t.Errorf("got %q, want %q", got, wants)
	}
	for _, f := range w.Findings() {
		if f.Topic == "/want" && (!f.Expected || f.For.Round(time.Second) != 70*time.Second) {
			t.Errorf("%+v", f)
		}
	}
	for _, u := range w.Usual() {
		if u.Topic == "/stays" && math.Abs(u.Hz-10) > 0.1 {
			t.Errorf("%s: %v Hz is usual, want 10, also while it has to prove itself again", u.Topic, u.Hz)
		}
	}
}

// TestUntold: silences that are not told, because the topic stops often, are counted; not those of a topic that need not
// go on, or of which less is expected.
func TestUntold(t *testing.T) {
	t.Parallel()
	var often []float64
	for n := range 10 {
		often = append(often, every(0.1, float64(n)*10, float64(n)*10+6)...)
	}
	_, w := watch(t, 100, clock{expect: []string{"/rare=0.1"}}, source{topic: "/a", times: often}, source{topic: "/map", times: often, latch: true}, source{topic: "/rare", times: often})
	if all := w.Sums(); len(all) != 1 || all[0].Topic != "/a" || all[0].Episodes != 1 || all[0].Untold != 8 {
		t.Errorf("%+v", all)
	}
}

// TestNeverCameBeforeAPause: a topic that never appeared while messages were recorded counts, although nobody could say so
// before the pause with which the recording ended.
func TestNeverCameBeforeAPause(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		length, recorded float64
		want             string
	}{
		"a short pause":       {6, 3, "1 true"},
		"a long one":          {60, 3, "1 true"},
		"ends at its size":    {1, 0.6, "1 true"},
		"nothing is recorded": {60, 0, "1 false"},
	} {
		e, err := finding.Expect("/never=1")
		if err != nil {
			t.Fatal(err)
		}
		w := finding.New([]finding.Expectation{e})
		for at := 0.0; at < tc.length; at += finding.Every.Seconds() {
			w.Look(seconds(at), seconds(at), at < tc.recorded, nil)
		}
		w.End(nil)
		if all := w.Sums(); len(all) != 1 || fmt.Sprint(all[0].Episodes, all[0].Expected) != tc.want {
			t.Errorf("%s: %+v, want %s", name, all, tc.want)
		}
	}
}

func b(on bool) int {
	if on {
		return 1
	}
	return 0
}

// TestUsual: the usual rate is known of regular topics only.
func TestUsual(t *testing.T) {
	t.Parallel()
	events := slices.DeleteFunc(bursts(18, 1.8, 100), func(at float64) bool { return at < 15 })
	_, w := watch(t, 100, clock{}, source{topic: "/a", times: every(0.1, 0, 100)}, source{topic: "/b", times: poisson(0.5, 100)},
		source{topic: "/c", times: join(every(0.1, 0, 15), events)})
	got := w.Usual()
	if len(got) != 3 || math.Abs(got[0].Hz-10) > 0.1 || got[1].Hz != 0 || got[2].Hz != 0 {
		t.Errorf("%+v", got)
	}
}

// TestUsualAfterAnOutage: what was learned before is known as long as messages come as before between silences, and
// not where they have become events.
func TestUsualAfterAnOutage(t *testing.T) {
	t.Parallel()
	after := func(times []float64) []float64 {
		return join(every(0.1, 0, 15), slices.DeleteFunc(times, func(at float64) bool { return at < 40 }))
	}
	var dies []float64
	for at := 40.0; at < 300; at += 8 {
		dies = append(dies, every(0.1, at, at+4)...)
	}
	for name, c := range map[string]struct {
		times []float64
		want  float64
	}{
		"as before":            {after(every(0.1, 0, 300)), 10},
		"ends soon":            {after(every(0.1, 0, 43)), 10},
		"one message":          {after([]float64{41}), 10},
		"dies again and again": {after(dies), 10},
		"events":               {after(poisson(0.5, 300)), 0},
		"frequent events":      {after(poisson(3, 300)), 0},
		"bursts":               {after(bursts(18, 1.8, 300)), 0},
	} {
		if _, w := watch(t, 300, clock{}, source{topic: "/t", times: c.times}); math.Abs(w.Usual()[0].Hz-c.want) > 0.1 {
			t.Errorf("%s: %v Hz is usual, want %v", name, w.Usual()[0].Hz, c.want)
		}
	}
}

// TestDoubt: wrong stamps that are in doubt are in no account. They count if they are not taken back, also when they were
// put right meanwhile.
func TestDoubt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		settle  float64 // when it is known whether stamps are wrong
		isWrong bool
		want    string
	}{
		"of another time":     {settle: 15, want: "[] []"},
		"wrong":               {settle: 15, isWrong: true, want: "[{/a stamps off 1 8s true false 0}] [8s]"},
		"wrong, and right":    {settle: 25, isWrong: true, want: "[{/a stamps off 1 11s false false 0}] []"},
		"right before a word": {settle: 25, want: "[] []"},
	} {
		s := source{topic: "/a", times: every(0.1, 0, 30), stamp: func(at float64) float64 {
			if at >= 10 && at < 20 {
				return at - 1e6
			}
			return at
		}}
		w := finding.New(nil)
		settled := false
		for at := 0.1; at < max(tc.settle, 18); at += finding.Every.Seconds() {
			if at >= tc.settle && !settled {
				settled = true
				w.Settle("/a", tc.isWrong)
			}
			for _, c := range w.Look(seconds(at), seconds(at), true, figures(at, []source{s})) {
				if !c.Over {
					w.Doubt(c.Topic)
				}
			}
			if !settled && len(w.Sums())+len(w.Findings()) > 0 {
				t.Errorf("%s: counted at %v s, in doubt", name, at)
			}
		}
		w.Settle("/a", tc.isWrong) // only the first time counts
		var now []time.Duration
		for _, f := range w.Findings() {
			now = append(now, f.For)
		}
		if got := fmt.Sprint(w.Sums(), now); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestLookAllocates nothing while there is nothing to say, and takes a time for each topic that allows thousands of them.
func TestLookAllocates(t *testing.T) {
	e, err := finding.Expect("/t/1*=1")
	if err != nil {
		t.Fatal(err)
	}
	w := finding.New([]finding.Expectation{e})
	all := make([]finding.Arrivals, 200)
	for i := range all {
		all[i] = finding.Arrivals{Topic: "/t/" + string(rune('0'+i%10)) + strings.Repeat("x", i), Links: 1}
	}
	at := 0.0
	look := func() {
		at += finding.Every.Seconds()
		for i := range all {
			all[i].Messages += 3
			all[i].Last = seconds(at - 0.01)
			all[i].Stamp, all[i].Stamped = all[i].Last.UnixNano(), all[i].Last
		}
		if changes := w.Look(seconds(at), seconds(at), true, all); len(changes) > 0 {
			t.Errorf("%+v", changes[0])
		}
	}
	for range 100 {
		look()
	}
	if n := testing.AllocsPerRun(100, look); n > 0 {
		t.Errorf("a look allocates %v times", n)
	}
}

func BenchmarkLook2000(b *testing.B) {
	w := finding.New(nil)
	all := make([]finding.Arrivals, 2000)
	for i := range all {
		all[i] = finding.Arrivals{Topic: "/robot/topic" + strings.Repeat("x", i%50) + string(rune('a'+i/50)), Links: 1}
	}
	at := 0.0
	b.ReportAllocs()
	for b.Loop() {
		at += finding.Every.Seconds()
		for i := range all {
			all[i].Messages += 3
			all[i].Last = seconds(at - 0.01)
			all[i].Stamp, all[i].Stamped = all[i].Last.UnixNano(), all[i].Last
		}
		w.Look(seconds(at), seconds(at), true, all)
	}
}
