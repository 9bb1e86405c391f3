package bag_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/integration/harness/s3"
	"github.com/gorosbag/gorosbag/test/load"
)

// bigBag writes a bag of so many MB with 100 messages a second, and returns how long
// its index is.
func bigBag(t *testing.T, path string, mb int) (index int64) {
	t.Helper()
	w := bags.New(t, path)
	var conns []*rosbag.Connection
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
			if err := w.Write(conns[i], rosbag.TimeOf(at), frame); err != nil {
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

// storeProgram starts a program with the credentials of the store.
func storeProgram(g *harness.Graph, s *s3.Server, name string, args ...string) *harness.Process {
	cmd := g.Command(name, args...)
	cmd.Env = append(cmd.Env, append(s.Environment(), "XDG_CACHE_HOME="+g.Dir)...)
	return g.Launch(name, cmd)
}

// TestRemoteBag: what is played and looked at of a large bag in a store costs its index
// and the chunks that are needed, not the bag. 1 GB with GOROSBAG_FULL.
func TestRemoteBag(t *testing.T) {
	t.Parallel()
	s, g := s3.New(t), harness.NewGraph(t, "gomaster")
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
		if strings.Contains(p.Out.String(), s3.Password) {
			t.Errorf("%v: shows the password:\n%s", test.args, p.Out.String())
		}
	}
}

// TestRemoteCost: over a link with 100 ms for each request and 20 MB/s, info in every form reads
// the index section and 2 % of the bag at most, in 20 requests; check reads each byte once; and
// goplay publishes after 3 %.
func TestRemoteCost(t *testing.T) {
	harness.Long(t, "reads a bag of 200 MB over a slow link, for 15 s")
	t.Parallel()
	s, g := s3.New(t), harness.NewGraph(t, "gomaster")
	const mb = 200 // docs/storage.md has the numbers of 500
	index := bigBag(t, filepath.Join(s.Dir, "big.bag"), mb)
	st, err := os.Stat(filepath.Join(s.Dir, "big.bag"))
	if err != nil {
		t.Fatal(err)
	}
	size := st.Size()
	s.Slow(100*time.Millisecond, 20e6)
	run := func(t *testing.T, requests int, most int64, args ...string) {
		t.Helper()
		before, asked, began := s.Sent(), s.Requests(), time.Now()
		cmd := g.Command(args[0], append(args[1:], s.At("big.bag"))...)
		cmd.Env = append(cmd.Env, s.Environment()...)
		p := g.Launch(args[0], cmd)
		if args[0] == "goplay" {
			peers.Listen(g, "subscriber", "/odom").WaitFor("/odom", 1)
		} else if code := p.Wait(); code != 0 {
			t.Errorf("%v: exit code %d:\n%s", args, code, p.Out.String())
		}
		got, asked := s.Sent()-before, s.Requests()-asked
		t.Logf("%v: %.2f MB of %.0f (index %.2f), %d requests, %.1f s", args, float64(got)/1e6, float64(size)/1e6, float64(index)/1e6, asked, time.Since(began).Seconds())
		if got > most || asked > requests {
			t.Errorf("%v: %d bytes in %d requests, want at most %d in %d", args, got, asked, most, requests)
		}
		if args[0] == "goplay" {
			p.Stop()
		}
	}
	for _, form := range [][]string{{}, {"--freq"}, {"-v"}, {"--json"}, {"--yaml"}} {
		run(t, 20, index+size/50, append([]string{"gobag", "info"}, form...)...)
	}
	run(t, 400, size+1<<20, "gobag", "check")
	run(t, 400, index+size*3/100, "goplay", "--wait-for-subscribers", "--topics", "/odom", "--bags")
}

// TestRemoteChunks: bags in a store whose chunks are compressed or encrypted are sampled as plain
// ones are, and each byte is checked once.
func TestRemoteChunks(t *testing.T) {
	harness.Long(t, "packs 10 MB with bz2")
	t.Parallel()
	harness.NeedROS(t)
	s, g := s3.New(t), harness.NewGraph(t, "gomaster")
	keys := harness.NewKeyring(t)
	keys.AddKey("Ann Example <ann@example.org>", "")
	g.Env = append(g.Env, keys.Env()...)
	plain := filepath.Join(g.Dir, "a.bag")
	bigBag(t, plain, 10)
	for name, build := range map[string]func() string{
		"lz4":       func() string { return compressed(g, plain, "--lz4") },
		"bz2":       func() string { return compressed(g, plain, "--bz2") },
		"encrypted": func() string { return encrypt(g, plain, "e.bag", "Ann Example") },
	} {
		path := build()
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path, filepath.Join(s.Dir, name+".bag")); err != nil {
			t.Fatal(err)
		}
		for command, want := range map[string]string{
			"info": "from 7 of ", "info -v": "from 7 of ", "info --json": `"sampled_chunks":7,`, "info --yaml": "sampled_chunks: 7\n", "check": "sound: ",
		} {
			most, requests := int64(2<<20), 20
			if command == "check" {
				most, requests = st.Size()+1<<20, 60
			}
			before, asked := s.Sent(), s.Requests()
			storeProgram(g, s, "gobag", append(strings.Fields(command), s.At(name+".bag"))...).Ended(0, want)
			got, n := s.Sent()-before, s.Requests()-asked
			t.Logf("%-9s %-13s %6.3f MB of %.3f, %d requests", name, command, float64(got)/1e6, float64(st.Size())/1e6, n)
			if got > most || n > requests {
				t.Errorf("%s, %s: %d bytes in %d requests, want at most %d in %d", name, command, got, n, most, requests)
			}
		}
	}
}

// compressed returns the path of a compressed copy of a bag.
func compressed(g *harness.Graph, path, how string) string {
	g.T.Helper()
	dir := g.T.TempDir()
	g.Run("gobag", "compress", "-q", how, "--output-dir", dir, path)
	return filepath.Join(dir, filepath.Base(path))
}

// TestSeveralRemoteBags: several bags in a store are read at a time, and printed in their order.
func TestSeveralRemoteBags(t *testing.T) {
	t.Parallel()
	s, g := s3.New(t), harness.NewGraph(t, "gomaster")
	for n := range 8 {
		bigBag(t, filepath.Join(s.Dir, fmt.Sprintf("run_%d.bag", n)), 1+n%2)
	}
	s.Delay(100 * time.Millisecond)
	for _, command := range []string{"info", "check"} {
		cmd := g.Command("gobag", command, s.At(""))
		cmd.Env = append(cmd.Env, s.Environment()...)
		p := g.Launch("gobag", cmd)
		if code := p.Wait(); code != 0 {
			t.Errorf("%s: exit code %d:\n%s", command, code, p.Out.String())
		}
		var names []string
		for _, name := range regexp.MustCompile(`(?m)^(?:path: +)?s3://bags/(run_\d)\.bag(?:$|: sound)`).FindAllStringSubmatch(p.Out.String(), -1) {
			names = append(names, name[1])
		}
		if got := strings.Join(names, " "); got != "run_0 run_1 run_2 run_3 run_4 run_5 run_6 run_7" {
			t.Errorf("%s: prints %s:\n%s", command, got, p.Out.String())
		}
	}
	if n := s.AtOnce(); n < 2 || n > 4 {
		t.Errorf("%d bags were read at the same time, want 2 to 4", n)
	}
}

// TestRemoteInterrupted: a store that hangs does not keep goplay from ending, and the
// end is no damage.
func TestRemoteInterrupted(t *testing.T) {
	t.Parallel()
	s, g := s3.New(t), harness.NewGraph(t, "gomaster")
	bigBag(t, filepath.Join(s.Dir, "big.bag"), 60)
	cmd := g.Command("goplay", s.At("big.bag"), "--rate", "0.2") // it must not have read all before the store hangs
	cmd.Env = append(cmd.Env, s.Environment()...)
	p := g.Launch("goplay", cmd)
	p.Printed(" done.")
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
	harness.Long(t, "a fault: the network is away")
	s, g := s3.New(t), harness.NewGraph(t, "gomaster")
	bigBag(t, filepath.Join(s.Dir, "big.bag"), 60)
	cmd := g.Command("goplay", s.At("big.bag"), "--rate", "0.5")
	cmd.Env = append(cmd.Env, s.Environment()...)
	p := g.Launch("goplay", cmd)
	p.Printed(" done.")
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
