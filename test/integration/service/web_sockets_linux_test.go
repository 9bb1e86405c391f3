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
		args    []string
		want    []string
		printed string // what the program prints when the master has answered: without an answer it does not end with 0
	}{
		{[]string{"goplay", "--pause", "--http=127.0.0.3:" + harness.FreePort(t), bags.Demo(t)}, []string{"127.0.0.1", "127.0.0.1", "127.0.0.3"}, ""},
		{[]string{"gorecord", "-a", "-O", "plain"}, []string{"127.0.0.1", "127.0.0.1"}, "Subscribing to"}, // the slave API and TCPROS
		{[]string{"gorecord", "-a", "-O", "served", "--http=127.0.0.3:" + harness.FreePort(t)}, []string{"127.0.0.1", "127.0.0.1", "127.0.0.3"}, "Subscribing to"},
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
		p.Printed(tt.printed)
		defer p.Stop() // the recorders first: goplay publishes what they subscribe to
	}
}
