package integration_test

import (
	"slices"
	"testing"
)

// TestWebSockets: --http adds the one socket that it names, and without it there is none.
func TestWebSockets(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"gorecord", "-a", "-O", "plain"}, []string{"127.0.0.1", "127.0.0.1"}}, // the slave API and TCPROS
		{[]string{"gorecord", "-a", "-O", "served", "--http=127.0.0.3:" + freePort(t)}, []string{"127.0.0.1", "127.0.0.1", "127.0.0.3"}},
		{[]string{"goplay", "--pause", "--http=127.0.0.3:" + freePort(t), demoBag(t)}, []string{"127.0.0.1", "127.0.0.1", "127.0.0.3"}},
	} {
		p := g.start(tt.args[0], tt.args[1:]...)
		var got []string
		g.eventually("it listens", func() bool {
			got = listening(t, p.cmd.Process.Pid)
			slices.Sort(got)
			return len(got) >= len(tt.want)
		})
		if !slices.Equal(got, tt.want) {
			t.Errorf("%v listens on %v, want %v", tt.args, got, tt.want)
		}
		p.stop()
	}
}
