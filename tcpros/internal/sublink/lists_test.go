package sublink

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
)

// A link that the master no longer lists is closed after lingerChecks checks without data, unless it
// waits for its sink. A link that a restarted master does not list stays; without a connection, it
// is given up after orphanChecks checks.
func TestUnlistedLinks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		epoch    int  // of the second list; 0 is that of the first
		before   bool // messages came before the second list
		received int  // a message comes after this check; zero for never
		busy     bool // the link waits for its sink
		down     int  // the publisher is gone after this check; zero for never
		back     int  // the publisher is listed again after this check; zero for never
		want     int  // the link is closed at this check; zero for never
	}{
		"idle":                  {want: lingerChecks},
		"messages before":       {before: true, want: 1 + lingerChecks},
		"a message comes":       {received: 1, want: 2 + lingerChecks},
		"the sink is slow":      {busy: true},
		"listed again":          {back: 1},
		"new master":            {epoch: 1},
		"new master, and gone":  {epoch: 1, down: 1, want: 1 + orphanChecks},
		"new master knows it":   {epoch: 1, down: 1, back: 1},
		"old master, gone, too": {down: 1, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var gone atomic.Bool
				g := newPeerNet(t, func(string) error {
					if gone.Load() {
						return errRefusedPeer
					}
					return nil
				})
				s := g.subscribe(t, "/t")
				s.SetPublishers(rosapi.Publishers{URIs: []string{liveURI}})
				synctest.Wait()
				l := s.allLinks()[0]
				l.stats.reading.Store(!tt.busy)
				if tt.before {
					l.stats.bytes.Add(1)
				}
				time.Sleep(g.timing.LingerCheck / 2) // checks are a whole number of intervals after the start
				s.SetPublishers(rosapi.Publishers{Epoch: tt.epoch})
				closed := 0
				for check := 1; check <= 2*orphanChecks && closed == 0; check++ {
					time.Sleep(g.timing.LingerCheck)
					synctest.Wait()
					if len(s.allLinks()) == 0 {
						closed = check
					}
					switch check {
					case tt.received:
						l.stats.bytes.Add(1)
					case tt.down:
						gone.Store(true)
						close(g.cut)
					}
					if check == tt.back {
						s.SetPublishers(rosapi.Publishers{Epoch: tt.epoch, URIs: []string{liveURI}})
					}
				}
				if closed != tt.want {
					t.Errorf("closed at check %d, want %d", closed, tt.want)
				}
			})
		})
	}
}

// Each publisher of a list has one link, also if it stands in the list twice, or beside publishers
// that have links already or an unusable URI. Only links of the list are listed.
func TestListsAreFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newPeerNet(t, func(string) error { return nil })
		s := g.subscribe(t, "/t")
		const a, b, c, d = "http://a:1/", "http://b:1/", "http://c:1/", "http://d:1/"
		for _, tt := range []struct{ list, linked, listed []string }{
			{[]string{a}, []string{a}, []string{a}},
			{[]string{b, a}, []string{a, b}, []string{a, b}},
			{[]string{c, b, b, a, a}, []string{a, b, c}, []string{a, b, c}},
			{[]string{d, "d:1", a, b, c}, []string{a, b, c, d}, []string{a, b, c, d}},
			{[]string{c, d}, []string{a, b, c, d}, []string{c, d}}, // the others may still have messages
			{[]string{a}, []string{a, b, c, d}, []string{a}},
		} {
			s.SetPublishers(rosapi.Publishers{URIs: tt.list})
			synctest.Wait()
			var linked, listed []string
			for _, l := range s.allLinks() {
				if l.isUp.Load() {
					linked = append(linked, l.uri)
				}
				if l.listed.Load() {
					listed = append(listed, l.uri)
				}
			}
			slices.Sort(linked)
			slices.Sort(listed)
			if !slices.Equal(linked, tt.linked) || !slices.Equal(listed, tt.listed) {
				t.Errorf("list %v: linked %v, listed %v, want %v and %v", tt.list, linked, listed, tt.linked, tt.listed)
			}
		}
	})
}
