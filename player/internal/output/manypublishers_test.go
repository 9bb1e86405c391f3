package output

import (
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/stage"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Planning a bag with sixteen times as many publishers of a topic takes about sixteen times as long,
// not 256.
func TestManyPublishers(t *testing.T) {
	const few, times, tries = 2000, 16, 5
	small, large := manyPublishers(t, few), manyPublishers(t, few*times)
	ratio := 0.0
	for range tries { // the machine may be busy during one of the two
		before, after := planned(t, small, few), planned(t, large, few*times)
		if ratio = after.Seconds() / before.Seconds(); ratio < 2.5*times {
			return
		}
	}
	t.Errorf("%d times as many publishers take %.0f times as long", times, ratio)
}

// manyPublishers makes a bag with a latched message of each of n publishers.
func manyPublishers(t *testing.T, n int) []byte {
	t.Helper()
	var messages []testplay.Message
	for i := range n {
		messages = append(messages, testplay.Series(testplay.Conn{Topic: "/a", CallerID: fmt.Sprint("/n", i), Latching: true}, "a", time.Duration(i))...)
	}
	return testplay.MakeBag(t, bagfmt.WriterOptions{}, messages...)
}

// planned plans to play all of a bag, and returns how long that takes.
func planned(t *testing.T, bag []byte, publishers int) time.Duration {
	t.Helper()
	bags := testplay.OpenBags(t, bag)
	began := time.Now()
	p, err := plan.New(t.Context(), plan.Options{Log: zap.NewNop()}, bags, testplay.Resolve)
	if err != nil {
		t.Fatal(err)
	}
	counts, err := p.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := New(Options{Plan: p})
	out.Advertise(silentGraph{}, tcpros.AdvertiseOptions{})
	if n := len(counts.ByTopic[p.Topics[0]].Callers.List); n != publishers || len(out.latching) != publishers {
		t.Fatalf("%d callers, %d sources that latch, want %d", n, len(out.latching), publishers)
	}
	return time.Since(began)
}

// silentGraph advertises what nobody subscribes to.
type silentGraph struct{ stage.Graph }

func (silentGraph) Advertise(tcpros.AdvertiseOptions, []plan.PublisherID) (stage.Publication, error) {
	return silentPublication{}, nil
}

type silentPublication struct{ stage.Publication }

func (silentPublication) Source(plan.PublisherID) stage.Sender { return nil }
