package readahead

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/player/internal/transport"
)

// readPasses reads by an order, in a bubble, and returns what is queued until nothing
// more comes: messages with their positions and ranks, and jumps. ended says that the
// reader has nothing more.
func readPasses(t *testing.T, bag []byte, known bool, o transport.ReadRequest, room int) (got []string, ended bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p, err := plan.New(t.Context(), plan.Options{Log: zap.NewNop()}, testplay.OpenBags(t, bag), testplay.Resolve)
		if err != nil {
			t.Fatal(err)
		}
		q := NewQueue(1<<30, room)
		r := newReader(byReceipt(p), q)
		if known {
			r.zero, r.zeroKnown = p.Bags[0].Source.Info().Start, true
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer r.closing.Wait()
		defer cancel()
		go r.readPasses(ctx, readRequest{ReadRequest: o})
		synctest.Wait()
		ended = q.closed
		for range q.ring.count {
			it, _ := popOne(t.Context(), q)
			switch j := it.Jump; {
			case j == nil:
				got = append(got, fmt.Sprintf("%v %d", it.Pos, it.At.Rank))
			case j.EndOfPass:
				got = append(got, fmt.Sprintf("turn at %v to %v shift %v", it.Pos, j.To, j.Shift))
			default:
				got = append(got, fmt.Sprintf("arrive at %v step %v", j.To, j.Step))
			}
		}
		cancel()
		synctest.Wait()
	})
	return got, ended
}

func TestPassesOfAReader(t *testing.T) {
	t.Parallel()
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.ConnA, "a", 0, 100*milli, 100*milli, 200*milli)...)
	from := func(at time.Duration) transport.Place { return transport.Place{Stamp: testplay.Base.Add(at)} }
	tests := map[string]struct {
		order transport.ReadRequest
		room  int
		want  []string
		ended bool
	}{
		"all, with ranks": {
			transport.ReadRequest{},
			100,
			[]string{"0s 0", "100ms 0", "100ms 1", "200ms 0"},
			true,
		},
		"from a rank": {
			transport.ReadRequest{From: transport.Place{Stamp: testplay.Base.Add(100 * milli), Rank: 1}, Arrive: true},
			100,
			[]string{"arrive at 100ms step false", "100ms 1", "200ms 0"},
			true,
		},
		"back": {
			transport.ReadRequest{From: transport.Place{Stamp: testplay.Base.Add(100 * milli), Rank: 1}, Back: 2, Arrive: true},
			100,
			[]string{"arrive at 0s step true", "0s 0", "100ms 0", "100ms 1", "200ms 0"},
			true,
		},
		"back, beyond the beginning": {
			transport.ReadRequest{From: from(0), Back: 1, Arrive: true},
			100,
			[]string{"arrive at 0s step false", "0s 0", "100ms 0", "100ms 1", "200ms 0"},
			true,
		},
		"immediate loop goes on": {
			transport.ReadRequest{Loop: transport.Loop{On: true, From: 100 * milli, To: 150 * milli, Immediate: true}},
			9,
			[]string{
				"0s 0", "100ms 0", "100ms 1", "turn at 150ms to 100ms shift 0s", "100ms 0", "100ms 1", "turn at 150ms to 100ms shift 0s", "100ms 0", "100ms 1",
			},
			false,
		},
		"from the very end of the loop": {
			transport.ReadRequest{From: from(100 * milli), Arrive: true, Loop: transport.Loop{On: true, To: 100 * milli}},
			6,
			[]string{"arrive at 100ms step false", "100ms 0", "100ms 1", "turn at 101ms to 0s shift 0s", "0s 0", "100ms 0"},
			false,
		},
		"from after the loop": {
			transport.ReadRequest{From: from(100*milli + 1), Arrive: true, Loop: transport.Loop{On: true, To: 100 * milli}},
			4,
			[]string{"arrive at 100.000001ms step false", "200ms 0", "turn at 201ms to 0s shift 0s", "0s 0"},
			false,
		},
		"loop without messages, immediate": {
			transport.ReadRequest{From: from(120 * milli), Arrive: true, Loop: transport.Loop{On: true, From: 120 * milli, To: 180 * milli, Immediate: true}},
			100,
			[]string{"arrive at 120ms step false", "turn at 180ms to 120ms shift 0s"},
			true,
		},
		"loop without messages takes time": {
			transport.ReadRequest{From: from(120 * milli), Arrive: true, Loop: transport.Loop{On: true, From: 120 * milli, To: 180 * milli}},
			4,
			[]string{
				"arrive at 120ms step false", "turn at 180ms to 120ms shift 0s", "turn at 180ms to 120ms shift 0s", "turn at 180ms to 120ms shift 0s",
			},
			false,
		},
		"loop without messages or time": {
			transport.ReadRequest{Loop: transport.Loop{On: true, From: 200*milli + 1, To: transport.Forever}},
			100,
			[]string{"0s 0", "100ms 0", "100ms 1", "200ms 0", "turn at 200ms to 200.000001ms shift 0s"},
			true,
		},
		"shift": {
			transport.ReadRequest{Loop: transport.Loop{On: true, From: 100 * milli, To: 150 * milli, Shift: true}},
			8,
			[]string{
				"0s 0", "100ms 0", "100ms 1", "turn at 150ms to 100ms shift 50ms", "100ms 0", "100ms 1", "turn at 150ms to 100ms shift 100ms", "100ms 0",
			},
			false,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ended := readPasses(t, bag, tc.order.Arrive, tc.order, tc.room)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if ended != tc.ended {
				t.Errorf("ended is %v", ended)
			}
		})
	}
}

// A bag whose time begins at zero, as in a simulation, has ranks, too.
func TestRanksAtTimeZero(t *testing.T) {
	t.Parallel()
	zero := -time.Duration(testplay.Base.Sec) * time.Second
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.ConnA, "a", zero, zero, zero+milli)...)
	got, _ := readPasses(t, bag, false, transport.ReadRequest{}, 100)
	if d := cmp.Diff([]string{"0s 0", "0s 1", "1ms 0"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A reader with another order, or none, leaves what cannot be played at once: a bag may
// hold nothing else.
func TestReaderLeavesUnplayable(t *testing.T) {
	t.Parallel()
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Concat(testplay.Series(testplay.ConnA, "a", 0), testplay.Series(testplay.Conn{Topic: "/bad", Type: "x_msgs/X", MD5Sum: " ", NoDefinition: true}, "b", 1, 2, 3))...)
	for name, tc := range map[string]struct {
		stop func(cancel func(), r *reader)
		want uint64 // messages skipped
	}{
		"interrupted":   {func(cancel func(), _ *reader) { cancel() }, 1},
		"another order": {func(_ func(), r *reader) { r.requests <- readRequest{} }, 1},
		"neither":       {func(func(), *reader) {}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := plan.New(t.Context(), plan.Options{Log: zap.NewNop()}, testplay.OpenBags(t, bag), testplay.Resolve)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := newReader(byReceipt(p), NewQueue(1<<20, 100))
			tc.stop(cancel, r)
			r.readPasses(ctx, readRequest{})
			r.closing.Wait()
			skipped := uint64(0)
			for _, u := range p.Unplayable() {
				skipped += u.Messages
			}
			if skipped != tc.want {
				t.Errorf("%d messages were skipped, want %d", skipped, tc.want)
			}
		})
	}
}
