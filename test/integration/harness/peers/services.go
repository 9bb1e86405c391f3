package peers

import (
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// SetPaused calls ~pause_playback of a player and returns success and message.
func SetPaused(g *harness.Graph, n *tcpros.Node, player string, paused bool) stdmsg.Outcome {
	g.T.Helper()
	answer, err := n.CallService(g.T.Context(), player+"/pause_playback", tcpros.SetBoolService, stdmsg.EncodeBool(paused))
	if err != nil {
		g.T.Fatal(err)
	}
	o, err := stdmsg.DecodeOutcome(answer)
	if err != nil {
		g.T.Fatal(err)
	}
	return o
}

// Served waits until a player offers its service.
func Served(g *harness.Graph, n *tcpros.Node, player string) {
	g.T.Helper()
	g.Eventually(player+" offers its service", func() bool {
		_, err := n.Master().LookupService(g.T.Context(), player+"/pause_playback")
		return err == nil
	})
}

// Subscribed waits until the master has a subscriber of a topic.
func Subscribed(g *harness.Graph, topic string) {
	g.T.Helper()
	n := Node(g, "asker")
	g.Eventually("somebody subscribes to "+topic, func() bool {
		state, err := n.Master().SystemState(g.T.Context())
		return err == nil && len(state.Subscribers[topic]) > 0
	})
}
