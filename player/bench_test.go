package player

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/internal/pacing"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/readahead"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/rosbag"
)

// nowhere is a publisher without subscribers.
type nowhere struct{}

func (nowhere) Publish([]byte)    {}
func (nowhere) PublishNow([]byte) {}

func (nowhere) Unlatch() {}

// benchPlan is a plan over a bag of n messages on ten topics.
func benchPlan(tb testing.TB, z rosbag.Compression, n int) *plan.Plan {
	tb.Helper()
	var messages []testplay.Message
	text := make([]byte, 1024)
	for i := range n {
		c := testplay.Conn{Topic: fmt.Sprintf("/t%d", i%10)}
		messages = append(messages, testplay.Message{Conn: c, At: time.Duration(i) * 100 * time.Microsecond, Text: string(text)})
	}
	o := Options{Bags: testplay.OpenBags(tb, testplay.MakeBag(tb, bagfmt.WriterOptions{Compression: z}, messages...)), Log: zap.NewNop()}
	p, err := testPlan(tb.Context(), &o)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// From the queue to the publisher nothing is allocated for a message.
func TestNoAllocationPerMessage(t *testing.T) {
	g := &rig{queue: readahead.NewQueue(1<<20, 1<<10)}
	h, route := testConductor(transport.Schedule{}, pacing.NewTimerSleeper(), g.queue, nowhere{})
	it := readahead.Item{Route: route, Frame: make([]byte, 100)}
	ctx := t.Context()
	g.queue.Push(ctx, it)
	room := make([]readahead.Item, 0, 1)
	g.queue.Pop(ctx, room)
	if n := testing.AllocsPerRun(1000, func() {
		it.Pos += time.Microsecond
		g.queue.Push(ctx, it)
		next, ok := g.queue.Pop(ctx, room)
		if !ok || !h.playItem(ctx, &next[0], false) {
			t.Error("not played")
		}
	}); n != 0 {
		t.Errorf("%v allocations for a message, want none", n)
	}
}

// BenchmarkImmediate plays without waiting: the cost of a message in all stages
// up to the publication.
func BenchmarkImmediate(b *testing.B) {
	const n = 50_000
	for _, z := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4} {
		b.Run(fmt.Sprintf("msg=1KiB/comp=%s/topics=10", z), func(b *testing.B) {
			p := benchPlan(b, z, n)
			b.SetBytes(n << 10)
			b.ReportAllocs()
			for b.Loop() {
				ahead := readahead.New(p, testOrder(p))
				h := planConductor(p, transport.Schedule{Immediate: true}, pacing.NewTimerSleeper(), ahead.Queue, nowhere{})
				ctx, stop := context.WithCancel(b.Context())
				done := make(chan struct{})
				// owner: this loop; ends with ctx.
				go func() {
					defer close(done)
					ahead.Run(ctx)
				}()
				ahead.Begin(transport.ReadRequest{})
				h.pace(b.Context())
				stop()
				<-done
				if h.output.Messages() != n {
					b.Fatalf("%d messages", h.output.Messages())
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "msg/s")
		})
	}
}

// BenchmarkTiming plays a second of 10 000 messages and reports how late they are.
func BenchmarkTiming(b *testing.B) {
	p := benchPlan(b, rosbag.CompressionLZ4, 10_000)
	var last pacing.Quantiles
	for b.Loop() {
		s := pacing.NewSleeper(zap.NewNop())
		ahead := readahead.New(p, testOrder(p))
		h := planConductor(p, transport.Schedule{}, s, ahead.Queue, nowhere{})
		ctx, stop := context.WithCancel(b.Context())
		done := make(chan struct{}, 2)
		ahead.Begin(transport.ReadRequest{})
		// owner: this loop; ends with ctx.
		go func() {
			ahead.Run(ctx)
			done <- struct{}{}
		}()
		// owner: this loop; ends after the last message, with its thread.
		go func() {
			h.pace(b.Context())
			stop()
			done <- struct{}{}
		}()
		<-done
		<-done
		s.Close()
		last = h.timing.Quantiles()
	}
	b.ReportMetric(float64(last.P50.Microseconds()), "p50-µs")
	b.ReportMetric(float64(last.P99.Microseconds()), "p99-µs")
	b.ReportMetric(float64(last.Max.Microseconds()), "max-µs")
}
