package bag_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/load"
)

// bigBag writes a bag of so many MB with 100 messages a second, and returns how long
// its index is.
func bigBag(t *testing.T, path string, mb int) (index int64) {
	t.Helper()
	w := harness.NewBag(t, path)
	var conns []*bagfmt.Connection
	for _, topic := range []string{"/camera", "/odom"} {
		c, err := w.AddConnection(topic, load.Header(topic))
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	data := make([]byte, 128<<10)
	rand.NewChaCha8([32]byte{}).Read(data)
	binary.LittleEndian.PutUint32(data, uint32(len(data)-4))
	at := time.Unix(1_700_000_000, 0)
	for range mb * 8 {
		for i, size := range []int{len(data), 0} {
			frame := data[:max(size, 100)]
			if i == 1 {
				frame = append(binary.LittleEndian.AppendUint32(nil, 96), data[4:100]...)
			}
			if err := w.WriteMessage(conns[i], bagfmt.TimeOf(at), frame); err != nil {
				t.Fatal(err)
			}
		}
		at = at.Add(10 * time.Millisecond)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	head := make([]byte, 200)
	if _, err := f.ReadAt(head, 0); err != nil {
		t.Fatal(err)
	}
	const key = "index_pos="
	pos := binary.LittleEndian.Uint64(head[bytes.Index(head, []byte(key))+len(key):])
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		t.Fatal(err)
	}
	return end - int64(pos)
}

// TestRemoteBag: what is played and looked at of a large bag in a store costs its index
// and the chunks that are needed, not the bag. 1 GB with GOROSBAG_FULL.
func TestRemoteBag(t *testing.T) {
	t.Parallel()
	s, g := harness.NewS3(t), harness.NewGraph(t, "gomaster")
	mb := 100
	if harness.Full() {
		mb = 1000
	}
	index := bigBag(t, filepath.Join(s.Dir, "big.bag"), mb)
	for _, test := range []struct {
		args []string
		most int64 // MiB beside the index
		want string
	}{
		{[]string{"gobag", "info", s.At("big.bag")}, 1, "s3://bags/big.bag\n"},
		{[]string{"gobag", "echo", "--noarr", "--nostr", "-n", "3", s.At("big.bag"), "/odom"}, 4, "---"},
		{[]string{"goplay", s.At("big.bag"), "--duration", "0.2", "--delay", "0"}, 12, "Done"},
		{[]string{"goplay", s.At("big.bag"), "--start", "5", "--duration", "0.2", "--delay", "0"}, 12, "Done"},
	} {
		before := s.Sent()
		cmd := g.Command(test.args[0], test.args[1:]...)
		cmd.Env = append(cmd.Env, s.Environment()...)
		p := g.Launch(test.args[0], cmd)
		if code := p.Wait(); code != 0 || !strings.Contains(p.Out.String(), test.want) {
			t.Errorf("%v: exit code %d:\n%s", test.args, code, p.Out.String())
		}
		got := s.Sent() - before
		t.Logf("%v: %d KiB of %d MiB, the index has %d KiB", test.args, got>>10, mb, index>>10)
		if got > index+test.most<<20 {
			t.Errorf("%v: %d bytes came over the network for an index of %d", test.args, got, index)
		}
		if strings.Contains(p.Out.String(), harness.S3Password) {
			t.Errorf("%v: shows the password:\n%s", test.args, p.Out.String())
		}
	}
}

// TestRemoteInterrupted: a store that hangs does not keep goplay from ending, and the
// end is no damage.
func TestRemoteInterrupted(t *testing.T) {
	t.Parallel()
	s, g := harness.NewS3(t), harness.NewGraph(t, "gomaster")
	bigBag(t, filepath.Join(s.Dir, "big.bag"), 60)
	cmd := g.Command("goplay", s.At("big.bag"), "--rate", "0.2") // it must not have read all before the store hangs
	cmd.Env = append(cmd.Env, s.Environment()...)
	p := g.Launch("goplay", cmd)
	p.Printed("Hit space")
	s.Freeze()
	var before int64
	harness.Eventually(t, "the store is waited for", func() bool { // and no answer is under way any more
		last := before
		before = s.Sent()
		return s.Waiting() && before == last
	})
	p.Signal(syscall.SIGINT)
	if code := p.Wait(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, p.Out.String())
	}
}

// TestRemoteAway: a network that is away for seconds while a bag is played loses
// nothing, and is no damage.
func TestRemoteAway(t *testing.T) {
	t.Parallel()
	s, g := harness.NewS3(t), harness.NewGraph(t, "gomaster")
	bigBag(t, filepath.Join(s.Dir, "big.bag"), 60)
	cmd := g.Command("goplay", s.At("big.bag"), "--delay", "0", "--rate", "0.5")
	cmd.Env = append(cmd.Env, s.Environment()...)
	p := g.Launch("goplay", cmd)
	p.Printed("Hit space")
	s.Drop(true)
	harness.Eventually(t, "the store is asked in vain", s.Waiting)
	back := time.AfterFunc(6*time.Second, func() { s.Drop(false) })
	defer back.Stop()
	if code := p.Wait(); code != 0 || strings.Contains(p.Out.String(), "damaged") {
		t.Errorf("exit code %d:\n%s", code, p.Out.String())
	}
	if back.Stop() {
		t.Error("the network was never away for long enough")
	}
}
