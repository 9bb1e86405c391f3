package output

import (
	"slices"
	"testing"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/stage"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/tcpros"
)

// namesGraph notes which topics are advertised.
type namesGraph struct {
	stage.Graph
	advertised []string
}

func (g *namesGraph) Advertise(o tcpros.AdvertiseOptions, _ []plan.PublisherID) (stage.Publication, error) {
	name, err := g.Resolve(o.Topic)
	g.advertised = append(g.advertised, name)
	return silentPublication{}, err
}

func (*namesGraph) Resolve(name string) (string, error) { return testplay.Resolve(name) }

// advertised returns an output that has advertised the topics of a bag.
func advertised(t *testing.T, g stage.Graph, topics ...testplay.Conn) *Output {
	t.Helper()
	var messages []testplay.Message
	for _, c := range topics {
		messages = append(messages, testplay.Series(c, "x", 0)...)
	}
	p, err := plan.New(t.Context(), plan.Options{Log: zap.NewNop()}, testplay.OpenBags(t, testplay.MakeBag(t, bagfmt.WriterOptions{}, messages...)), testplay.Resolve)
	if err != nil {
		t.Fatal(err)
	}
	out := New(Options{Plan: p, Log: zap.NewNop()})
	out.Advertise(g, tcpros.AdvertiseOptions{})
	return out
}

// The clock shares its topic with the messages of a bag.
func TestClockTopicOfBag(t *testing.T) {
	t.Parallel()
	for name, topics := range map[string][]testplay.Conn{
		"without": {{Topic: "/a"}},
		"with":    {{Topic: "/a"}, {Topic: "/clock", Type: stdmsg.ClockType, MD5Sum: stdmsg.ClockMD5}},
	} {
		g := &namesGraph{}
		out := advertised(t, g, topics...)
		if err := out.AdvertiseClock(g, false); err != nil {
			t.Error(err)
		}
		slices.Sort(g.advertised)
		if !slices.Equal(g.advertised, []string{"/a", "/clock"}) {
			t.Errorf("%s the topic in the bag: advertised %q", name, g.advertised)
		}
	}
}

// A topic can be switched off and on, and only a topic of the plan.
func TestSetTopic(t *testing.T) {
	t.Parallel()
	out := advertised(t, &namesGraph{}, testplay.Conn{Topic: "/a"})
	for _, on := range []bool{true, false, false, true} {
		want := on == out.topics[0].off
		if changed, err := out.SetTopic("/a", on, 0); changed != want || err != nil {
			t.Errorf("switched to %v: changed %v, %v", on, changed, err)
		}
	}
	if changed, err := out.SetTopic("/none", false, 0); changed || err == nil {
		t.Errorf("a topic that is not played: %v, %v", changed, err)
	}
}
