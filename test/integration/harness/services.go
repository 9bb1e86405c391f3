package harness

import (
	"os"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/testkit"
)

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
	testkit.Missing(g.T, install)
}

// Call has rosservice call a service and returns the response.
func (g *Graph) Call(name string, args ...string) string {
	g.T.Helper()
	return g.Run("rosservice", append([]string{"call", "--wait", name}, args...)...)
}
