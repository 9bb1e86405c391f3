package play_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// TestPlayEncrypted plays a bag that stock has encrypted, and refuses it without its key.
func TestPlayEncrypted(t *testing.T) {
	t.Parallel()
	harness.Long(t, "gpg makes a key, and stock encrypts")
	harness.NeedROS(t)
	keys := harness.NewKeyring(t)
	keys.AddKey("Ann Example", "")
	g := harness.NewGraph(t, "gomaster")
	bags.Make(g, "in.bag", bags.Walk()...)
	want := hashes(t, filepath.Join(g.Dir, "in.bag"))
	g.Env = keys.Env()
	g.Run("rosbag", "encrypt", "-q", "-r", "Ann Example", "in.bag")

	g.Env = harness.NewKeyring(t).Env()
	p := g.Start("goplay", "in.bag")
	if code := p.Wait(); code != 1 || !strings.Contains(p.Out.String(), `in.bag: encrypted bag: its messages and topics need the GPG key of "Ann Example"`) {
		t.Errorf("without the key: code %d, %s", code, p.Out.String())
	}

	g.Env = keys.Env()
	rec := g.Record("-a", "-x", "/rosout.*", "-O", "out")
	g.Run("goplay", "in.bag", "--wait-for-subscribers", "--queue", "0", "--rate", "4")
	rec.Stop()
	compareOrder(t, "gorecord", want, hashes(t, filepath.Join(g.Dir, "out.bag")))
}
