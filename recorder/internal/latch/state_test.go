package latch

import (
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// TestWhatIsLatchedWhereASnapshotBegins: of each publisher the latest message from before the snapshot, from
// wherever it is known.
func TestWhatIsLatchedWhereASnapshotBegins(t *testing.T) {
	t.Parallel()
	trigger := time.Now()
	begin := trigger.Add(-10 * time.Second)
	for name, tc := range map[string]struct {
		before, cut []int         // sources with a message before the ring, and in what is cut off the ring, in that order
		last        map[int]bool  // sources with a latest message; true: it was not recorded
		latest      time.Duration // of the latest messages, before the trigger
		seen        []rosbag.ConnID
		want        string // the payload of each message: where it is from, and its source
	}{
		"before the ring":             {before: []int{0}, want: "before 0"},
		"in what is cut off":          {before: []int{0}, cut: []int{0}, want: "cut 0"},
		"the newest connection first": {before: []int{2, 0}, want: "before 2, before 0"},
		"of a publisher with two headers the later message, of the old header": {before: []int{1, 0}, want: "before 0"},
		"cut off, under the other header":                                      {before: []int{1}, cut: []int{0}, want: "cut 0"},
		"the latest where none is known before":                                {last: map[int]bool{0: false}, want: "last 0"},
		"not the latest, which is in the snapshot":                             {last: map[int]bool{0: false}, seen: []rosbag.ConnID{0}},
		"what is known before the latest":                                      {before: []int{0}, last: map[int]bool{0: false}, want: "before 0"},
		"the latest from a pause before the snapshot": {
			before: []int{0}, last: map[int]bool{0: true}, latest: time.Minute, want: "last 0",
		},
		"not that of a pause within the snapshot": {before: []int{0}, last: map[int]bool{0: true}, latest: time.Second, want: "before 0"},
		"not a latest that was recorded, however long ago": {
			before: []int{0}, last: map[int]bool{0: false}, latest: time.Minute, want: "before 0",
		},
		"one of each publisher": {before: []int{0}, last: map[int]bool{2: false}, want: "last 2, before 0"},
	} {
		w := newWorld(-1)
		sources := []*Source{source(0, "/a"), source(1, "/a"), source(2, "/b")}
		message := func(from string, i int) []byte { return []byte(from + string(rune('0'+i))) }
		for i, missed := range tc.last {
			sources[i].missed, sources[i].latest = missed, trigger.Add(-tc.latest)
			w.Remember(sources[i], message("last ", i))
		}
		for _, i := range tc.before {
			l := copyOf(sources[i], 0)
			l.frame = message("before ", i)
			w.drop(w.inRing(true, l))
		}
		s := AtTrigger(sources)
		for _, c := range sources {
			c.missed, c.latest = false, trigger // later messages do not change what was latched
		}
		w.AddBeforeRing(&s)
		var cut []*Message
		for _, i := range tc.cut {
			cut = append(cut, Borrow(sources[i], message("cut ", i)))
		}
		if !w.Claim(w.Count(cut)) {
			t.Fatal("no memory")
		}
		s.AddCut(cut)
		seen := map[rosbag.ConnID]bool{}
		for _, id := range tc.seen {
			seen[id] = true
		}
		got := ""
		for i, l := range s.Latest(begin, seen) {
			if i > 0 {
				got += ", "
			}
			got += string(l.frame)
		}
		if got != tc.want {
			t.Errorf("%s: the snapshot begins with %q, want %q", name, got, tc.want)
		}
		w.End(&s)
		for _, c := range sources {
			w.Forget(c)
			w.ForgetBeforeRing(c)
		}
		w.check(t, name, 0, 0)
	}
}

// TestCutMessagesAreCopies: the chunk that they are cut off is given back.
func TestCutMessagesAreCopies(t *testing.T) {
	t.Parallel()
	w := newWorld(-1)
	f := frame(10, 1)
	cut := []*Message{Borrow(source(0, "/a"), f)}
	if n := w.Count(cut); n != 28 {
		t.Errorf("a message of 14 bytes counts %d, want 28", n)
	}
	var s State
	s.AddCut(cut)
	f[4] = 2
	if got := s.Latest(time.Time{}, nil); len(got) != 1 || !slices.Equal(got[0].frame, frame(10, 1)) {
		t.Errorf("%+v", got)
	}
}

// TestStateOfNothing: connections that do not latch, or are silent, are not part of it.
func TestStateOfNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(10_000)
	silent, plain := source(0, "/a"), source(1, "/b")
	w.Remember(plain, []byte("x"))
	plain.latching = false
	s := AtTrigger([]*Source{silent, plain})
	w.AddBeforeRing(&s)
	if got := s.Latest(time.Now(), nil); len(got) != 0 || w.Count(nil) != 0 {
		t.Errorf("%d messages", len(got))
	}
}
