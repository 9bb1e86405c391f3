package harness

import (
	"os"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/tcpros"
)

// SetPaused calls ~pause_playback of a player and returns success and message.
func (g *Graph) SetPaused(n *tcpros.Node, player string, paused bool) tcpros.Outcome {
	g.T.Helper()
	answer, err := n.CallService(g.T.Context(), player+"/pause_playback", tcpros.SetBoolService, tcpros.EncodeBool(paused))
	if err != nil {
		g.T.Fatal(err)
	}
	o, err := tcpros.DecodeOutcome(answer)
	if err != nil {
		g.T.Fatal(err)
	}
	return o
}

// Served waits until a player offers its service.
func (g *Graph) Served(n *tcpros.Node, player string) {
	g.T.Helper()
	g.Eventually(player+" offers its service", func() bool {
		_, err := n.Master().LookupService(g.T.Context(), player+"/pause_playback")
		return err == nil
	})
}

// Listed waits until `rosservice list` or `rostopic list`, as tool says, has all names: a
// node registers them one after the other.
func (g *Graph) Listed(tool string, names ...string) {
	g.T.Helper()
	var out string
	g.Eventually(tool+" lists "+strings.Join(names, " "), func() bool {
		out = g.Run(tool, "list")
		lines := strings.Fields(out)
		return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(lines, n) })
	}, func() string { return out })
}

// StdSrvs skips the test where rosservice cannot call the services of std_srvs, or fails
// it where ROS is required.
func (g *Graph) StdSrvs() {
	g.T.Helper()
	const install = "the Python of std_srvs is not installed (Debian 12: apt-get install python3-std-srvs)"
	if _, err := os.Stat("/usr/lib/python3/dist-packages/std_srvs/srv"); err == nil {
		return
	}
	if os.Getenv("GOROSBAG_REQUIRE_ROS") != "" {
		g.T.Fatal("GOROSBAG_REQUIRE_ROS is set, but " + install)
	}
	g.T.Skip(install)
}

// Call has rosservice call a service and returns what it answers.
func (g *Graph) Call(name string, args ...string) string {
	g.T.Helper()
	return g.Run("rosservice", append([]string{"call", "--wait", name}, args...)...)
}
