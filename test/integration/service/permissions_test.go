package service_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestPermissions: others cannot read what is recorded, whatever the umask lets through.
func TestPermissions(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	peers.NewFlood(g, "/t", 100_000).WaitSent(0)
	rec := g.Command("gorecord", "/t", "-O", "out", "--snapshot-beside")
	cmd := g.Command("/bin/sh", append([]string{"-c", `umask 000; exec "$@"`, "sh"}, rec.Args...)...)
	p := g.Launch("gorecord", cmd)
	p.Printed("Subscribing to")
	closed := func(name string) {
		t.Helper()
		g.Closed(name)
		st, err := os.Lstat(filepath.Join(g.Dir, name))
		if err != nil || st.Mode() != 0o640 {
			t.Errorf("%s: mode %v, %v", name, st.Mode(), err)
		}
	}
	closed("out.bag.active")
	p.Signal(syscall.SIGUSR1) // a snapshot
	harness.Eventually(t, "there is a snapshot", func() bool {
		names, err := filepath.Glob(filepath.Join(g.Dir, "out_snapshot*.bag"))
		if err != nil || len(names) == 0 {
			return false
		}
		closed(filepath.Base(names[0]))
		return true
	})
	p.Stop()
	closed("out.bag")
}
