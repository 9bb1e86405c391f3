package registrar

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
)

func newTestRegistrar() *Registrar {
	return New(Options{Log: zap.NewNop(), Timing: DefaultTiming()})
}

// answered records that the master has confirmed the registration of e.
func (r *Registrar) answered(e *entry) {
	e.tried, e.update.pending = true, nil
	if err := r.recordResult(context.Background(), e, nil); err != nil {
		panic(err)
	}
}

// TestServicesRegisterLast: a message that is published before a subscription is
// registered is lost, a call of a service is not.
func TestServicesRegisterLast(t *testing.T) {
	t.Parallel()
	r := newTestRegistrar()
	for i := range 5 {
		for _, kind := range []rosapi.Kind{rosapi.Service, rosapi.Subscriber, rosapi.Publisher} {
			r.Add(rosapi.Key{Kind: kind, Name: fmt.Sprint("/x", i)}, "", 0, nil)
		}
	}
	for i := range 15 {
		e, _ := r.book.mostUrgent(time.Now())
		if service := e.key.Kind == rosapi.Service; service != (i >= 10) {
			t.Errorf("call %d registers a %s", i, e.key.Kind)
		}
		r.answered(e)
	}
}

// TestUnheardInLargeGraphs: when comparisons are far apart, an update between two of them is in
// time.
func TestUnheardInLargeGraphs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTestRegistrar()
		k := rosapi.Key{Kind: rosapi.Subscriber, Name: "/t"}
		r.Add(k, "*", 0, stuckLink{})
		e := r.book.entries[k]
		e.registered = true
		for i, publishers := range [][]string{{"/a"}, {"/a", "/b"}, {"/a", "/b"}} {
			if topic, _ := r.book.compare(map[rosapi.Key][]string{k: {"/me"}, {Kind: rosapi.Publisher, Name: "/t"}: publishers}, "/me"); topic != "" {
				t.Errorf("comparison %d: an update of %s was missed", i, topic)
			}
			time.Sleep(r.Timing.ReconcileMost / 3)
			if i == 0 {
				e.update.last = time.Now()
			}
			time.Sleep(r.Timing.ReconcileMost * 2 / 3)
		}
	})
}

// TestUnheard: a master that cannot call this node is noticed, a master that is only a little late
// is not.
func TestUnheard(t *testing.T) {
	t.Parallel()
	start, reconcileEvery := time.Now(), DefaultTiming().ReconcileEvery
	at := func(round int) time.Time { return start.Add(time.Duration(round) * reconcileEvery) }
	for name, tc := range map[string]struct {
		lists []string // of the comparisons
		heard float64  // in rounds; negative means never
		want  int      // the comparison that notices the master, negative if none does
	}{
		"no change":             {[]string{"", "", "", ""}, -1, -1},
		"publishers from start": {[]string{"/a", "/a", "/a"}, -1, -1},
		"never told":            {[]string{"/a", "/a /b", "/a /b"}, -1, 2},
		"told before":           {[]string{"/a", "/a /b", "/a /b"}, 0.5, -1},
		"told a moment after":   {[]string{"/a", "/a /b", "/a /b"}, 1.001, -1},
		"once":                  {[]string{"", "/b", "/b", "/b"}, -1, 2},
	} {
		e := &entry{}
		told := -1
		for i, list := range tc.lists {
			if tc.heard >= 0 && float64(i) >= tc.heard && e.update.last.IsZero() {
				e.update.last = start.Add(time.Duration(tc.heard * float64(reconcileEvery)))
			}
			if e.updateMissed(list, at(i), reconcileEvery) {
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

// TestAllLostRegistrationsAreSeen: also while others wait for their turn.
func TestAllLostRegistrationsAreSeen(t *testing.T) {
	t.Parallel()
	r := newTestRegistrar()
	const each = 30
	for i := range 2 * each {
		k := rosapi.Key{Kind: rosapi.Publisher, Name: fmt.Sprint("/", i)}
		r.Add(k, "a/A", 0, nil)
		r.book.entries[k].registered = i < each
	}
	if _, lost := r.book.compare(nil, "/me"); !lost || r.book.anyRegistered(false) {
		t.Errorf("lost: %v, of %d registrations some still count as registered", lost, each)
	}
}

// TestConfirmed: a registration is confirmed from the answer of the master on, until it is removed.
func TestConfirmed(t *testing.T) {
	t.Parallel()
	r := newTestRegistrar()
	k := rosapi.Key{Kind: rosapi.Subscriber, Name: "/t"}
	check := func(what string, publishers int, want bool) {
		t.Helper()
		if n, ok := r.book.confirmed(k); n != publishers || ok != want {
			t.Errorf("%s: %v, %d publishers", what, ok, n)
		}
	}
	check("unknown", 0, false)
	r.Add(k, "*", 0, stuckLink{})
	check("not registered", 0, false)
	e := r.book.entries[k]
	e.tried, e.registered, e.confirmed = true, true, []string{"http://a:1/", "http://b:1/"}
	check("registered", 2, true)
	r.Remove(k)
	check("removed", 0, false)
}

// TestLoopbackIsSaid: once, with the first registration.
func TestLoopbackIsSaid(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	r := New(Options{Log: zap.New(core), Timing: DefaultTiming(), LoopbackDefault: true})
	for _, name := range []string{"/a", "/b"} {
		r.Add(rosapi.Key{Kind: rosapi.Publisher, Name: name}, "a/A", 0, nil)
		if n := logs.Len(); n != 1 {
			t.Errorf("%d lines after %s", n, name)
		}
	}
}

// TestMasterThatComesAndGoes: what is logged says how often contact was lost without a line.
func TestMasterThatComesAndGoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		r := New(Options{Log: zap.New(core), Timing: DefaultTiming(), Master: &rosapi.Master{}})
		for i := range 3 {
			r.failed(t.Context(), errors.New("no answer"))
			if r.failed(t.Context(), errors.New("no answer")); r.id.failures != 2 || r.Up() {
				t.Errorf("time %d: %d failures in a row, up: %v", i, r.id.failures, r.Up())
			}
			if r.succeeded(); r.id.failures != 0 || !r.Up() {
				t.Errorf("time %d: %d failures after an answer, up: %v", i, r.id.failures, r.Up())
			}
		}
		time.Sleep(loglimit.Interval)
		r.failed(t.Context(), errors.New("no answer"))
		all := logs.FilterLevelExact(zap.ErrorLevel).All()
		if len(all) != 2 {
			t.Fatalf("logged: %v", logs.All())
		}
		if _, ok := all[0].ContextMap()["times before"]; ok || all[1].ContextMap()["times before"] != int64(2) {
			t.Errorf("logged: %v, then %v", all[0].ContextMap(), all[1].ContextMap())
		}
	})
}
