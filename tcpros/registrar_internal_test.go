package tcpros

import (
	"fmt"
	"testing"
	"time"
)

// TestServicesRegisterLast: a message that is published before a subscription is
// registered is lost, a call of a service is not.
func TestServicesRegisterLast(t *testing.T) {
	t.Parallel()
	r := &registrar{entries: map[regKey]*regEntry{}, wake: make(chan struct{}, 1)}
	for i := range 5 {
		for _, kind := range []regKind{regService, regSubscriber, regPublisher} {
			r.want(regKey{kind, fmt.Sprint("/x", i)}, "", nil)
		}
	}
	for i := range 15 {
		e, _ := r.pick(time.Now())
		if service := e.key.kind == regService; service != (i >= 10) {
			t.Errorf("call %d registers a %s", i, e.key.kind)
		}
		e.registered = true
	}
}

// TestUnheard: a master that cannot call us is noticed, one that is only a little late is not.
func TestUnheard(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(round int) time.Time { return start.Add(time.Duration(round) * reconcileEvery) }
	for name, tc := range map[string]struct {
		lists []string // of the comparisons
		heard float64  // in rounds; negative means never
		want  int      // the comparison that tells, negative if none does
	}{
		"no change":             {[]string{"", "", "", ""}, -1, -1},
		"publishers from start": {[]string{"/a", "/a", "/a"}, -1, -1},
		"never told":            {[]string{"/a", "/a /b", "/a /b"}, -1, 2},
		"told before":           {[]string{"/a", "/a /b", "/a /b"}, 0.5, -1},
		"told a moment after":   {[]string{"/a", "/a /b", "/a /b"}, 1.001, -1},
		"once":                  {[]string{"", "/b", "/b", "/b"}, -1, 2},
	} {
		e := &regEntry{}
		told := -1
		for i, list := range tc.lists {
			if tc.heard >= 0 && float64(i) >= tc.heard && e.heard.IsZero() {
				e.heard = start.Add(time.Duration(tc.heard * float64(reconcileEvery)))
			}
			if e.unheard(list, at(i)) {
				if told >= 0 {
					t.Errorf("%s: told twice", name)
				}
				told = i
			}
		}
		if told != tc.want {
			t.Errorf("%s: told at %d, want %d", name, told, tc.want)
		}
	}
}
