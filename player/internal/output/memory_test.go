package output

import (
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/stage"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/tcpros"
)

// holdingGraph is a graph whose subscribers hold as many of the latest frames of a topic as the test says.
type holdingGraph struct {
	namesGraph
	held map[string]int
}

func (g *holdingGraph) Advertise(o tcpros.AdvertiseOptions, _ []plan.PublisherID) (stage.Publication, error) {
	return holdingPublication{graph: g, topic: o.Topic}, nil
}

type holdingPublication struct {
	silentPublication
	graph *holdingGraph
	topic string
}

func (p holdingPublication) Held() int                          { return p.graph.held[p.topic] }
func (holdingPublication) Source(plan.PublisherID) stage.Sender { return deafSender{} }

type deafSender struct{ stage.Sender }

func (deafSender) Publish([]byte) {}

// Memory is used again when no subscriber needs a message that was published before, of any topic, and not
// earlier.
func TestMemoryIsUsedAgain(t *testing.T) {
	t.Parallel()
	g := &holdingGraph{held: map[string]int{}}
	out := advertised(t, g, testplay.ConnA, testplay.ConnB)
	var again []byte
	out.reuse = func(memory []byte) { again = append(again, memory[0]) }
	publish := func(topics ...string) {
		for _, name := range topics {
			t := out.plan.Topic(topicname.InGraph(name))
			i := slices.IndexFunc(out.plan.Publishers, func(p *plan.Publisher) bool { return p.Topic == t })
			out.Publish(&plan.Route{Topic: t, Publisher: out.plan.Publishers[i]}, &Message{Frame: make([]byte, 5)})
		}
	}
	for _, step := range []struct {
		why     string
		publish []string
		held    map[string]int
		done    byte // the memory
		again   string
	}{
		{"nobody holds a message", []string{"/a", "/b"}, nil, 'a', "a"},
		{"the last message of one topic", []string{"/a", "/b", "/a"}, map[string]int{"/a": 1}, 'b', ""},
		{"still, beside later ones", []string{"/a", "/a"}, map[string]int{"/a": 3}, 'c', ""},
		{"another topic, too", []string{"/b"}, map[string]int{"/a": 2, "/b": 1}, 'd', "b"},
		{"one topic is enough to wait for", nil, map[string]int{"/b": 1}, 'e', "c"},
		{"all is sent", nil, nil, 'f', "def"},
	} {
		publish(step.publish...)
		g.held = step.held
		again = nil
		if out.Done([]byte{step.done}); string(again) != step.again {
			t.Errorf("%s: %q is used again, want %q", step.why, again, step.again)
		}
	}
}

// A subscriber that does not read makes play forget memory, not gather it.
func TestMemoryIsForgotten(t *testing.T) {
	t.Parallel()
	g := &holdingGraph{held: map[string]int{"/a": 1}}
	out := advertised(t, g, testplay.ConnA)
	again := 0
	out.reuse = func([]byte) { again++ }
	route := &plan.Route{Topic: out.plan.Topics[0], Publisher: out.plan.Publishers[0]}
	out.Publish(route, &Message{Frame: make([]byte, 5)})
	for range 2 * maxUsedBytes >> 20 {
		out.Done(make([]byte, 1<<20))
	}
	g.held = nil
	out.Done(nil)
	if again != maxUsedBytes>>20+1 {
		t.Errorf("%d are used again", again)
	}
}
