package health_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/internal/health"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// robot is a robot whose topics have a message each tenth of a second, as the function of each topic says.
type robot struct {
	begun  time.Time
	topics map[string]func(at time.Duration, a *finding.Arrivals) (messages bool)
	sent   map[string]uint64
	last   map[string]time.Time
	asked  int          // how often it was asked who publishes
	sim    *simtime.Sim // is set to the time at each look; nil for none
}

func (r *robot) Arrivals(all []finding.Arrivals) ([]finding.Arrivals, bool) {
	now := time.Now()
	if r.sim != nil {
		r.sim.Set(now.UnixNano())
	}
	for name, on := range r.topics {
		a := finding.Arrivals{Topic: name, Links: 1}
		if on(now.Sub(r.begun), &a) {
			r.sent[name] += 2
			r.last[name] = now
		}
		a.Messages, a.Last = r.sent[name], r.last[name]
		if a.Stamp != 0 {
			a.Stamp, a.Stamped = a.Last.Add(time.Duration(a.Stamp)).UnixNano(), a.Last
		}
		all = append(all, a)
	}
	return all, true
}

func (r *robot) Linked(topic topicname.InBag) []string {
	r.asked++
	return []string{"/driver", "/of" + string(topic)}
}

// TestWatcher: the beginning and the end of an episode are in the log and in the bag, each once. Stamps of a player say
// nothing, nor do any in a graph with a clock of its own.
func TestWatcher(t *testing.T) {
	t.Parallel()
	between := func(from, to int) func(time.Duration, *finding.Arrivals) bool {
		return func(at time.Duration, _ *finding.Arrivals) bool {
			return at < time.Duration(from)*time.Second || at >= time.Duration(to)*time.Second
		}
	}
	stamped := func(off time.Duration) func(time.Duration, *finding.Arrivals) bool {
		return func(_ time.Duration, a *finding.Arrivals) bool {
			a.Stamp = int64(off)
			return true
		}
	}
	for name, tc := range map[string]struct {
		sim    bool
		hangs  bool // whoever is asked about publishers
		topics map[string]func(time.Duration, *finding.Arrivals) bool
		want   []string
		marks  []string
		asked  int
	}{
		"silent for a while": {
			topics: map[string]func(time.Duration, *finding.Arrivals) bool{"/imu": between(20, 30), "/ok": between(0, 0)},
			want:   []string{"warn: a topic is silent /imu for 2 s (publisher there but mute)", "info: a topic is well again /imu 10.3s"},
			marks:  []string{"20: silent /imu", "31: silent /imu is over after 10 s"},
		},
		"stamps are off": {
			topics: map[string]func(time.Duration, *finding.Arrivals) bool{"/gps": stamped(-time.Hour), "/ok": stamped(-time.Millisecond)},
			want:   []string{"warn: the stamps of a topic are off /gps 1 h behind"}, marks: []string{"0: stamps off /gps: 1 h behind"}, asked: 1,
		},
		"the master does not answer": {
			hangs: true,
			topics: map[string]func(time.Duration, *finding.Arrivals) bool{
				"/imu": between(20, 99), "/gps": func(at time.Duration, a *finding.Arrivals) bool {
					a.Stamp = -1
					if at > 19*time.Second {
						a.Stamp = -int64(time.Hour)
					}
					return true
				},
			},
			want:  []string{"warn: a topic is silent /imu for 2 s (publisher there but mute)", "warn: the stamps of a topic are off /gps 1 h behind"},
			marks: []string{"20: silent /imu", "19: stamps off /gps: 1 h behind"}, asked: 1,
		},
		"the recording ends before the master answers": {
			hangs: true,
			topics: map[string]func(time.Duration, *finding.Arrivals) bool{"/gps": func(at time.Duration, a *finding.Arrivals) bool {
				a.Stamp = -1
				if at > 56*time.Second {
					a.Stamp = -int64(time.Hour)
				}
				return true
			}},
			want: []string{"warn: the stamps of a topic are off /gps 1 h behind"}, marks: []string{"56: stamps off /gps: 1 h behind"}, asked: 1,
		},
		"a player":                         {topics: map[string]func(time.Duration, *finding.Arrivals) bool{"/played": stamped(-time.Hour)}, asked: 1},
		"a simulation":                     {sim: true, topics: map[string]func(time.Duration, *finding.Arrivals) bool{"/gps": stamped(-time.Hour)}},
		"ends together with the recording": {topics: map[string]func(time.Duration, *finding.Arrivals) bool{"/a": between(59, 99)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				core, logged := observer.New(zap.InfoLevel)
				r := &robot{time.Now(), tc.topics, map[string]uint64{}, map[string]time.Time{}, 0, nil}
				var marks []string
				c := health.Config{
					Log: zap.New(core), Accounts: r,
					IsPlayer: func(ctx context.Context, p string) bool {
						if tc.hangs {
							<-ctx.Done()
							<-time.After(time.Millisecond)
						}
						return p == "/of/played"
					},
					Mark: func(text string, at time.Time) {
						marks = append(marks, fmt.Sprintf("%.0f: %s", at.Sub(r.begun).Seconds(), text))
					},
				}
				if tc.sim {
					c.Sim = simtime.New()
					r.sim = c.Sim
				}
				w := health.New(c)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				w.Run(ctx)
				var got []string
				for _, e := range logged.All() {
					m := e.ContextMap()
					got = append(got, strings.TrimSpace(fmt.Sprint(e.Level, ": ", e.Message, " ", m["topic"], " ", first(m["what"], m["for"]))))
				}
				if !slices.Equal(got, tc.want) {
					t.Errorf("logged %q, want %q", got, tc.want)
				}
				if !slices.Equal(marks, tc.marks) {
					t.Errorf("marks %q, want %q", marks, tc.marks)
				}
				if r.asked != tc.asked {
					t.Errorf("asked %d times who publishes, want %d", r.asked, tc.asked)
				}
				if n := len(w.Sums()); (n > 0) != (len(tc.want) > 0) {
					t.Errorf("%d sums", n)
				}
				synctest.Wait()
			})
		})
	}
}

func first(all ...any) any {
	for _, a := range all {
		if a != nil {
			return a
		}
	}
	return ""
}

// TestExpectedInAShortRecording: a topic that has no message counts although the recording ends before anybody could
// say so.
func TestExpectedInAShortRecording(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var expect []finding.Expectation
		for _, text := range []string{"/never=1", "/there=100", "/the*=1", "/nothing/*=1"} {
			e, err := finding.Expect(text)
			if err != nil {
				t.Fatal(err)
			}
			expect = append(expect, e)
		}
		r := &robot{time.Now(), map[string]func(time.Duration, *finding.Arrivals) bool{
			"/there": func(at time.Duration, _ *finding.Arrivals) bool { return at > time.Second },
		}, map[string]uint64{}, map[string]time.Time{}, 0, nil}
		w := health.New(health.Config{Log: zap.NewNop(), Expect: expect, Accounts: r})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		w.Run(ctx)
		var got []string
		for _, s := range w.Sums() {
			got = append(got, fmt.Sprint(s.Topic, " ", s.Kind, " ", s.Episodes, " ", s.Expected))
		}
		if want := []string{"/never silent 1 true", "/nothing/* silent 1 true"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if f := w.Findings(); len(f) != 0 {
			t.Errorf("found %+v", f)
		}
	})
}
