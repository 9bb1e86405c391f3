package stock_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestStockHungMaster: 38, a master that hangs keeps stock from closing its bag.
func TestStockHungMaster(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	g := harness.NewGraph(t, "gomaster")
	peers.Talk(g, "one", "/chatter")
	all := both(g, "/chatter -O x", want{files: "x.bag", topics: "/chatter"})
	waitRecorded(t, all)
	g.Core.Signal(syscall.SIGSTOP)
	t.Cleanup(func() { g.Core.Signal(syscall.SIGCONT) })
	stalls, asked := g.Stalls(all[0].p), time.Now()
	for _, o := range all {
		o.p.Signal(syscall.SIGTERM)
	}
	all[0].finish(t, &recordRow{})
	if took, still := time.Since(asked), stalls(); took > 2*time.Second+still {
		t.Errorf("ours ends after %v, of which the machine stood still for %v", took, still)
	}
	if len(all) == 2 {
		if left := all[1].names(".bag.active"); len(left) != 1 {
			t.Errorf("stock has closed its bag: not the difference that we know")
		}
		all[1].p.Signal(syscall.SIGKILL)
	}
}
