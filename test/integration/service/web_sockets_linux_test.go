package service_test

import (
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// TestWebSockets: --http adds the one socket that it names, and without it there is none.
func TestWebSockets(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"gorecord", "-a", "-O", "plain"}, []string{"127.0.0.1", "127.0.0.1"}}, // the slave API and TCPROS
		{[]string{"gorecord", "-a", "-O", "served", "--http=127.0.0.3:" + harness.FreePort(t)}, []string{"127.0.0.1", "127.0.0.1", "127.0.0.3"}},
		{[]string{"goplay", "--pause", "--http=127.0.0.3:" + harness.FreePort(t), bags.Demo(t)}, []string{"127.0.0.1", "127.0.0.1", "127.0.0.3"}},
	} {
		p := g.Start(tt.args[0], tt.args[1:]...)
		var got []string
		g.Eventually("it listens", func() bool {
			got = listening(t, p.Cmd.Process.Pid)
			slices.Sort(got)
			return len(got) >= len(tt.want)
		})
		if !slices.Equal(got, tt.want) {
			t.Errorf("%v listens on %v, want %v", tt.args, got, tt.want)
		}
		p.Stop()
	}
}
