package play_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// firstBag is a bag with the first messages of many topics: 100 in 700 ms of one, which is not
// more than the queues of goplay and of stock's recorder hold, and 14 of each of 20 others.
func firstBag(g *harness.Graph) (topics []string, bag []bags.StringMessage) {
	say := func(topic string, period time.Duration, count int) {
		topics = append(topics, topic)
		for i := range count {
			bag = append(bag, bags.StringMessage{Topic: topic, Node: "/robot", At: time.Duration(i) * period, Text: fmt.Sprint(topic, i)})
		}
	}
	say("/fast", 7*time.Millisecond, 100)
	for i := range 20 {
		say(fmt.Sprintf("/t%d", i), 50*time.Millisecond, 14)
	}
	slices.SortStableFunc(bag, func(a, b bags.StringMessage) int { return int(a.At - b.At) })
	bags.Make(g, "many.bag", bag...)
	return topics, bag
}

// waitingSubscribers are a node of rospy and one of roscpp that subscribe to all topics of
// firstBag before anything plays.
type waitingSubscribers struct {
	g      *harness.Graph
	topics []string
	watch  *tcpros.Node
	rospy  *harness.Process
	before int // messages that rospy had
	roscpp *harness.Process
	out    string // the bag of roscpp
}

func newWaitingSubscribers(g *harness.Graph, topics []string) *waitingSubscribers {
	s := &waitingSubscribers{g: g, topics: topics, watch: peers.Node(g, "watcher")}
	s.rospy = g.StartPython("subscribe.py", append([]string{"python"}, topics...)...)
	s.rospy.Printed("ready")
	return s
}

// again starts another node of roscpp, and waits until both subscribe to all.
func (s *waitingSubscribers) again(run int) {
	s.before, s.out = s.heard(), fmt.Sprintf("heard%d.bag", run)
	s.roscpp = s.g.Start("/usr/lib/rosbag/record", append([]string{"-b", "0", "-O", s.out, "__name:=roscpp"}, s.topics...)...)
	s.g.Eventually("both subscribe to all", func() bool {
		state, err := s.watch.Master().SystemState(s.g.T.Context())
		return err == nil && !slices.ContainsFunc(s.topics, func(topic string) bool { return len(state.Subscribers[topic]) < 2 })
	})
}

// heard returns how many messages rospy has got.
func (s *waitingSubscribers) heard() int { return strings.Count(s.rospy.Out.String(), "\n") - 1 }

// want waits until rospy has that many messages of this run. The texts of each topic that roscpp
// has got have to be what the function returns for their number.
func (s *waitingSubscribers) want(total int, text func(topic string, i int) (text string, more bool)) {
	s.g.T.Helper()
	s.g.Eventually("rospy has got all", func() bool { return s.heard() >= s.before+total }, func() string { return fmt.Sprint(s.heard() - s.before) })
	s.roscpp.WaitIdle() // with SIGINT it forgets what it has not written
	s.roscpp.Stop()
	heard := bags.Read(s.g.T, filepath.Join(s.g.Dir, s.out))
	for _, topic := range s.topics {
		if heard[topic] == nil {
			s.g.T.Errorf("%s: roscpp got nothing of %s", s.out, topic)
			continue
		}
		for i, m := range heard[topic].Messages {
			if want, _ := text(topic, i); !bytes.Equal(m.Data, bags.StringData(want)) {
				s.g.T.Errorf("%s: message %d of %s that roscpp got is %q, want %q", s.out, i, topic, m.Data, want)
				break
			}
		}
		if next, more := text(topic, len(heard[topic].Messages)); more {
			s.g.T.Errorf("%s: roscpp got %d messages of %s, but not %q", s.out, len(heard[topic].Messages), topic, next)
		}
	}
}

// messagesOf returns for waitingSubscribers.want that each topic's messages from a time on come,
// at least so many times.
func messagesOf(bag []bags.StringMessage, from time.Duration, passes int) func(topic string, i int) (text string, more bool) {
	all := map[string][]string{}
	for _, m := range bag {
		if m.At >= from {
			all[m.Topic] = append(all[m.Topic], m.Text)
		}
	}
	return func(topic string, i int) (string, bool) {
		texts := all[topic]
		return texts[i%len(texts)], i < passes*len(texts)
	}
}

// TestFirstMessages: subscribers of roscpp and rospy that are there when goplay starts get
// every message, with its default options, but for how long it waits for them: a busy machine
// takes more than the two seconds. roscpp connects up to 300 ms after the master has told it
// of a publisher.
func TestFirstMessages(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes and tools in Python for seconds")
	harness.EachMasterForROS(t, func(_ *testing.T, g *harness.Graph) {
		topics, bag := firstBag(g)
		s := newWaitingSubscribers(g, topics)
		for run := range 10 {
			s.again(run)
			g.Start("goplay", "many.bag", "-q", "--link-timeout", "60").Ended(0)
			s.want(len(bag), messagesOf(bag, 0, 1))
		}
	})
}

// TestFirstMessagesOfCrowds: the same where 500 other topics are published, from nodes with the
// names of the original publishers, after a seek, and of the second pass of a loop.
func TestFirstMessagesOfCrowds(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes and tools in Python for seconds")
	harness.EachMasterForROS(t, func(_ *testing.T, g *harness.Graph) {
		topics, bag := firstBag(g)
		crowd := peers.Node(g, "crowd")
		for i := range 500 {
			peers.Advertise(g, crowd, fmt.Sprintf("/crowd%d", i), false)
		}
		s := newWaitingSubscribers(g, topics)
		s.again(1)
		g.Start("goplay", "many.bag", "-q", "--link-timeout", "60", "--respect-publishers").Ended(0)
		s.want(len(bag), messagesOf(bag, 0, 1))

		s.again(2)
		const from = 350 * time.Millisecond
		p := startPlayer(g, "many.bag", "--pause", "--respect-publishers")
		p.begun()
		p.post("seek", fmt.Sprintf(`{"to": %v}`, from.Seconds()))
		p.post("play", "")
		p.Ended(0)
		rest := 0
		for _, m := range bag {
			if m.At >= from {
				rest++
			}
		}
		s.want(rest, messagesOf(bag, from, 1))

		s.again(3)
		play := g.Start("goplay", "many.bag", "-q", "--link-timeout", "60", "--loop")
		g.Eventually("rospy has got two passes", func() bool { return s.heard() >= s.before+2*len(bag)+len(topics) })
		play.Stop()
		s.want(2*len(bag), messagesOf(bag, 0, 2))
	})
}
