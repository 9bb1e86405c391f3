package play_test

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// oldBags are our own bags of old versions, and the real one where it is at hand.
func oldBags(t *testing.T) []string {
	t.Helper()
	var bags []string
	for _, name := range []string{
		"v0_strings", "v0_wildcard", "v10_wildcard", "v10_writer_order", "v11_rosrecord", "v11_rosrecord_star_md5",
		"v12_indexed_latched", "v12_indexed_notclosed", "v12_unindexed_nodefs", "v12_unindexed_rosrebag",
	} {
		path, err := filepath.Abs("../../../bagfmt/testdata/old/" + name + ".bag")
		if err != nil {
			t.Fatal(err)
		}
		bags = append(bags, path)
	}
	if dir := os.Getenv("GOROSBAG_BAGS"); dir != "" {
		bags = append(bags, filepath.Join(dir, "v12-indexed-scan.bag"))
	} else if path, err := filepath.Abs("../../../../shared/bags/real/v12-indexed-scan.bag"); err == nil {
		bags = append(bags, path)
	}
	return slices.DeleteFunc(bags, func(path string) bool {
		_, err := os.Stat(path)
		return err != nil && strings.Contains(path, "v12-indexed-scan") // not ours
	})
}

// hashes reads a bag with our reader: the messages of each topic in time order, as
// dump.py writes them, under names with a slash, which old bags may lack.
func hashes(t *testing.T, path string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for name, topic := range bags.Read(t, path) {
		name = "/" + strings.TrimPrefix(name, "/")
		for _, m := range topic.Messages {
			sum := md5.Sum(m.Data)
			out[name] = append(out[name], hex.EncodeToString(sum[:]))
		}
	}
	return out
}

// TestPlayOldBags plays bags of all old versions to our recorder.
func TestPlayOldBags(t *testing.T) {
	t.Parallel()
	for _, bag := range oldBags(t) {
		t.Run(filepath.Base(bag), func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			rec := g.Record("-a", "-x", "/rosout.*", "-O", "out")
			g.Run("goplay", bag, "--wait-for-subscribers", "--queue", "0", "--rate", "4")
			rec.Stop()
			compareOrder(t, "gorecord", hashes(t, bag), hashes(t, filepath.Join(g.Dir, "out.bag")))
		})
	}
}

// TestPlayOldBagsToROS plays bags of all old versions to stock's recorder and to a rospy node, also those
// which do not say of what type their messages are.
func TestPlayOldBagsToROS(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes and tools in Python for seconds")
	harness.NeedROS(t)
	for _, bag := range oldBags(t) {
		t.Run(filepath.Base(bag), func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "roscore")
			want := hashes(t, bag)
			topics := slices.Sorted(maps.Keys(want))
			// One after the other: --wait-for-subscribers waits for one of each topic.
			play := func() {
				g.Run("goplay", bag, "--wait-for-subscribers", "--link-timeout", "60", "--queue", "0", "--rate", "4")
			}
			roscpp := g.Start("/usr/lib/rosbag/record", append([]string{"-O", "out", "-b", "0"}, topics...)...)
			g.Eventually("the roscpp recorder has its file", func() bool { return harness.Size(g, "out.bag.active") >= 0 })
			stalls := g.Stalls(roscpp)
			play()
			roscpp.WaitIdle() // with SIGINT it forgets what it has not written
			still := stalls()
			roscpp.Stop()
			// By our reader: rosbag's Python API reads no messages of type *.
			compareWithStock(t, want, hashes(t, filepath.Join(g.Dir, "out.bag")), still)
			rospy := subscribe(g, "listener", topics...)
			play()
			rospy.Stop()
			got := map[string][]string{}
			for _, h := range heardBy(rospy) {
				got[h.Topic] = append(got[h.Topic], h.Data)
			}
			compareOrder(t, "rospy", want, got)
		})
	}
}

// TestPlayWithoutIndex plays what a killed recorder leaves.
func TestPlayWithoutIndex(t *testing.T) {
	t.Parallel()
	demo, err := os.ReadFile(bags.Demo(t))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(demo, []byte("index_pos=")) + len("index_pos=")
	section := binary.LittleEndian.Uint64(demo[at:])
	active := slices.Clone(demo[:section])
	clear(active[at : at+8])
	for name, tc := range map[string]struct {
		bag  []byte
		code int
		said string
	}{
		"active": {active, 0, "bag was not closed"},
		"cut":    {demo[:section/2], 3, "not all was played"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			if err := os.WriteFile(filepath.Join(g.Dir, "x.bag.active"), tc.bag, 0o600); err != nil {
				t.Fatal(err)
			}
			rec := g.Record("-a", "-x", "/rosout.*", "-O", "out")
			p := g.Start("goplay", "x.bag.active", "--wait-for-subscribers", "--queue", "0", "--rate", "4")
			if code := p.Wait(); code != tc.code || !strings.Contains(p.Out.String(), tc.said) {
				t.Errorf("exit code %d, want %d and %q\n%s", code, tc.code, tc.said, p.Out.String())
			}
			rec.Stop()
			want, got := hashes(t, bags.Demo(t)), hashes(t, filepath.Join(g.Dir, "out.bag"))
			for topic, list := range want {
				if n := len(got[topic]); n > len(list) || tc.code == 0 && n < len(list) || n == 0 && len(list) > 10 || !slices.Equal(list[:n], got[topic]) {
					t.Errorf("%s: %d of %d messages, or other ones", topic, n, len(list))
				}
			}
		})
	}
}
