package recorder

import (
	"errors"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/subscribe"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// watching notes what it is shown of one topic.
type watching struct {
	topics  []string
	p       *intake.Link
	shown   int
	skipped int
	before  uint64 // recorded or passed when the last message was shown
	stamp   time.Time
}

func (w *watching) Topics() []string                               { return w.topics }
func (w *watching) Open(string, rosbag.Header) control.LinkWatcher { return w }
func (w *watching) Triggers() []control.TriggerStats               { return []control.TriggerStats{{Fired: 3}} }
func (w *watching) Skipped(messages int)                           { w.skipped += messages }
func (w *watching) Frames(_ []byte, count int, stamp, _ time.Time) {
	w.shown += count
	w.stamp = stamp
	if w.p != nil {
		a := accountOf(w.p)
		w.before = a.Recorded + a.Passed
	}
}

// TestWatchedLink: a watcher is shown messages when the recording has them, paused or not; links of
// other topics are as without a watcher.
func TestWatchedLink(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{}, nil)
	w := &watching{topics: []string{"/t"}}
	l, other := open(t, p, "/t", "/p"), open(t, p, "/other", "/p")
	if got := subscribe.Watched(w, nil, "/other", testlink.Info("/other", "/p"), other); got != tcpros.LinkSink(other) {
		t.Errorf("a link that is not watched is %T", got)
	}
	if got := subscribe.Watched(nil, nil, "/t", testlink.Info("/t", "/p"), l); got != tcpros.LinkSink(l) {
		t.Errorf("without a watcher the link is %T", got)
	}
	sink := subscribe.Watched(w, nil, "/t", testlink.Info("/t", "/p"), l)
	w.p = l
	at := time.Now()
	sink.Frames(append(testlink.Frame(0, 1, 8), testlink.Frame(0, 2, 8)...), 2, at)
	if w.shown != 2 || w.before != 2 || !w.stamp.Equal(at) {
		t.Errorf("shown %d, when the recording had %d, at %v", w.shown, w.before, w.stamp)
	}
	if err := p.Commands().Pause(); err != nil {
		t.Fatal(err)
	}
	sink.Frames(testlink.Frame(0, 3, 8), 1, time.Now())
	if w.shown != 3 || w.before != 3 {
		t.Errorf("while paused: shown %d, when %d had come", w.shown, w.before)
	}
	if sink.Large(1<<20) != nil || w.skipped != 1 {
		t.Errorf("a large message: %d skipped", w.skipped)
	}
	if _, ok := sink.(tcpros.LostSink); !ok {
		t.Error("losses of UDPROS are not counted on a watched link")
	}
	sink.Closed(nil)
	closePipeline(t, p)
}

// TestWatchedLinkAllocations: the recorder's part of a watched message allocates nothing.
// It is not parallel: what others allocate would count.
func TestWatchedLinkAllocations(t *testing.T) { //nolint:paralleltest // it counts allocations
	p := testPipeline(t, Options{Begin: control.StatePaused}, nil)
	w := &watching{topics: []string{"/t"}}
	watched := subscribe.Watched(w, nil, "/t", testlink.Info("/t", "/p"), open(t, p, "/t", "/p"))
	other := subscribe.Watched(w, nil, "/other", testlink.Info("/other", "/p"), open(t, p, "/other", "/p"))
	run, now := testlink.Frame(0, 1, 100), time.Now()
	for name, sink := range map[string]tcpros.LinkSink{"watched": watched, "not watched": other} {
		if n := testing.AllocsPerRun(300, func() { sink.Frames(run, 1, now) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	closePipeline(t, p)
}

// TestWatchedTopicsAreSelected: a topic to watch that is certainly not recorded is an error. Asking
// does not make a glob count as matched.
func TestWatchedTopicsAreSelected(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		selection Selection
		fails     bool
	}{
		"all":                 {Selection{All: true}, false},
		"all but it":          {Selection{All: true, Exclude: []string{"/w.*"}}, true},
		"a glob":              {Selection{Topics: []string{"/wat*"}}, false},
		"another glob":        {Selection{Topics: []string{"/x*"}}, true},
		"an expression":       {Selection{Topics: []string{"/wa.*"}, Regex: true}, false},
		"another expression":  {Selection{Topics: []string{"/x.*"}, Regex: true}, true},
		"perhaps by type":     {Selection{Types: []string{"std_msgs/*"}}, false},
		"by type, but it":     {Selection{Types: []string{"std_msgs/*"}, Exclude: []string{"/watched"}}, true},
		"perhaps of a node":   {Selection{Nodes: []string{"/n"}}, false},
		"of a node, but it":   {Selection{Nodes: []string{"/n"}, Exclude: []string{"/watched"}}, true},
		"perhaps from a node": {Selection{NodePublications: []string{"/n"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{Node: new(tcpros.Node), Select: test.selection, Watch: &watching{topics: []string{"/watched"}}}
			o, err := o.withDefaults()
			if err != nil {
				t.Fatal(err)
			}
			if err := o.checkWatched(); errors.Is(err, ErrNotSelected) != test.fails || !test.fails && err != nil {
				t.Errorf("error %v", err)
			}
			if n := len(o.Select.unmatched()); n != len(o.Select.include)+len(o.Select.types) {
				t.Errorf("%d patterns count as not matched", n)
			}
		})
	}
}
