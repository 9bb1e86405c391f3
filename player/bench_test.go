package player

import (
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/internal/pacing"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/rosbag"
)

// nowhere is a publisher without subscribers.
type nowhere struct{}

func (nowhere) Publish([]byte)    {}
func (nowhere) PublishNow([]byte) {}

func (nowhere) Unlatch() {}

// benchPlan is a plan over a bag of n messages on ten topics.
func benchPlan(tb testing.TB, z rosbag.Compression, n int) *plan {
	tb.Helper()
	var messages []TestMessage
	text := make([]byte, 1024)
	for i := range n {
		c := TestConn{Topic: fmt.Sprintf("/t%d", i%10)}
		messages = append(messages, TestMessage{c, time.Duration(i) * 100 * time.Microsecond, string(text)})
	}
	o := Options{Bags: OpenTestBags(tb, MakeBag(tb, bagfmt.WriterOptions{Compression: z}, messages...)), Log: zap.NewNop()}
	p, err := testPlan(tb.Context(), &o)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// publishNowhere publishes the topics of a plan to nobody.
func publishNowhere(o *output, p *plan) {
	for _, t := range p.topics {
		o.topics = append(o.topics, &outTopic{topic: t, publication: &fakePublication{graph: newFakeGraph()}})
	}
	for _, s := range p.publishers {
		o.outlets = append(o.outlets, &outlet{sender: nowhere{}, topic: o.topics[s.topic.number]})
	}
}

// From the queue to the publisher nothing is allocated for a message.
func TestNoAllocationPerMessage(t *testing.T) {
	g := &stage{queue: newQueue(1<<20, 1<<10)}
	h := testController(transport.Schedule{}, pacing.NewTimerSleeper(), g.queue)
	it := item{route: testRoute(&h.output, nowhere{}), frame: make([]byte, 100)}
	ctx := t.Context()
	g.queue.push(ctx, it)
	popOne(ctx, g.queue)
	if n := testing.AllocsPerRun(1000, func() {
		it.pos += time.Microsecond
		g.queue.push(ctx, it)
		next, ok := popOne(ctx, g.queue)
		if !ok || !h.playItem(ctx, &next, false) {
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
				q := newQueue(maxAheadBytes, maxAheadMessages)
				h := testController(transport.Schedule{Immediate: true}, pacing.NewTimerSleeper(), q)
				publishNowhere(&h.output, p)
				done := make(chan struct{})
				// owner: this loop; ends when all is read.
				go func() {
					defer close(done)
					newReader(testOrder(p), q).readPasses(b.Context(), readRequest{})
				}()
				h.run(b.Context())
				<-done
				if h.output.messages != n {
					b.Fatalf("%d messages", h.output.messages)
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
		q := newQueue(maxAheadBytes, maxAheadMessages)
		h := testController(transport.Schedule{}, s, q)
		publishNowhere(&h.output, p)
		done := make(chan struct{}, 2)
		// owner: this loop; ends when all is read.
		go func() {
			newReader(testOrder(p), q).readPasses(b.Context(), readRequest{})
			done <- struct{}{}
		}()
		// owner: this loop; ends after the last message, with its thread.
		go func() {
			h.run(b.Context())
			done <- struct{}{}
		}()
		<-done
		<-done
		s.Close()
		last = h.pacer.timing.Quantiles()
	}
	b.ReportMetric(float64(last.P50.Microseconds()), "p50-µs")
	b.ReportMetric(float64(last.P99.Microseconds()), "p99-µs")
	b.ReportMetric(float64(last.Max.Microseconds()), "max-µs")
}
