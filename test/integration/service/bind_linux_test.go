package service_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestBind checks that the programs listen where they are told, and nowhere else:
// anybody who reaches a port of ours can feed or stop us.
func TestBind(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"gorecord", []string{"gorecord", "-a", "-O", "nowhere"}, "127.0.0.1"},
		{"gorecord told", []string{"gorecord", "-a", "-O", "told", "--bind", "127.0.0.2"}, "127.0.0.2"},
		{"gorecord all", []string{"gorecord", "-a", "-O", "all", "--bind=0.0.0.0"}, "0.0.0.0"},
		{"goplay told", []string{"goplay", "--pause", "--bind", "127.0.0.2", bags.Demo(t)}, "127.0.0.2"},
	} {
		p := g.Start(tt.args[0], tt.args[1:]...)
		var got []string
		g.Eventually(tt.name+" listens", func() bool {
			got = listening(t, p.Cmd.Process.Pid)
			return len(got) == 2 // the slave API and TCPROS
		})
		if got[0] != tt.want || got[1] != tt.want {
			t.Errorf("%s listens on %v, want %s", tt.name, got, tt.want)
		}
		p.Signal(syscall.SIGINT)
		p.Wait() // perhaps with 3: the master may not have answered yet
	}
	p := g.Start("gorecord", "-a", "--bind", "robot")
	if code := p.Wait(); code != 1 {
		t.Errorf("--bind robot: exit code %d", code)
	}
	p.Printed(`"robot": want an IP address such as`)
}

// listening returns the addresses of the TCP sockets that a process listens on.
func listening(t *testing.T, pid int) (addresses []string) {
	t.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	var mine []string
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil {
			mine = append(mine, strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]"))
		}
	}
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	if err != nil {
		t.Fatal(err)
	}
	const listen = "0A"
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) < 10 || f[3] != listen || !slices.Contains(mine, f[9]) {
			continue
		}
		var a uint32
		if _, err := fmt.Sscanf(f[1], "%X", &a); err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, netip.AddrFrom4([4]byte{byte(a), byte(a >> 8), byte(a >> 16), byte(a >> 24)}).String())
	}
	return addresses
}

// TestNotReached: a recorder that the master cannot call, because it advertises an address
// that is not its own, still gets new publishers, and says what to set.
func TestNotReached(t *testing.T) {
	t.Parallel()
	harness.Long(t, "waits for two polls of the master, ten seconds apart")
	g := harness.NewGraph(t, "gomaster")
	peers.Talk(g, "talker", "/t")
	cmd := g.Command("gorecord", "/t", "-O", "out", "--bind", "127.0.0.1")
	cmd.Env = append(cmd.Env, "ROS_IP=127.0.0.9")
	rec := g.Launch("gorecord", cmd)
	rec.Printed("Recording to")
	harness.Eventually(t, "something is recorded", func() bool { return harness.Size(g, "out.bag.active") > 5_000 })
	// It is noticed by what changes between two looks at the master's list, ten seconds apart.
	comes := time.NewTicker(4 * time.Second)
	defer comes.Stop()
	deadline := time.After(harness.Timeout)
	for n := 0; !strings.Contains(rec.Out.String(), "the master does not get through to this node"); n++ {
		select {
		case <-comes.C:
			peers.Talk(g, fmt.Sprintf("talker%d", n), "/t")
		case <-deadline:
			t.Fatal("nothing is said")
		}
	}
	rec.Printed(`"toward the master": "127.0.0.1"`)
	rec.Stop()
}
