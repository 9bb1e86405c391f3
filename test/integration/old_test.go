package integration_test

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
)

// oldBags are our own bags of old versions, and the real one where it is at hand.
func oldBags(t *testing.T) []string {
	t.Helper()
	var bags []string
	for _, name := range []string{
		"v0_strings", "v0_wildcard", "v10_wildcard", "v10_writer_order", "v11_rosrecord", "v11_rosrecord_star_md5",
		"v12_indexed_latched", "v12_indexed_notclosed", "v12_unindexed_nodefs", "v12_unindexed_rosrebag",
	} {
		path, err := filepath.Abs("../../bagfmt/testdata/old/" + name + ".bag")
		if err != nil {
			t.Fatal(err)
		}
		bags = append(bags, path)
	}
	if dir := os.Getenv("GOROSBAG_BAGS"); dir != "" {
		bags = append(bags, filepath.Join(dir, "v12-indexed-scan.bag"))
	} else if path, err := filepath.Abs("../../../shared/bags/real/v12-indexed-scan.bag"); err == nil {
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
	for name, topic := range read(t, path) {
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
			g := newGraph(t, "gomaster")
			rec := g.record("-a", "-x", "/rosout.*", "-O", "out")
			g.run("goplay", bag, "--wait-for-subscribers", "--queue", "0", "--rate", "4")
			rec.stop()
			compareOrder(t, "gorecord", hashes(t, bag), hashes(t, filepath.Join(g.dir, "out.bag")))
		})
	}
}

// TestPlayOldBagsToROS plays them to stock's recorder and to a rospy node, also those
// which do not say of what type their messages are.
func TestPlayOldBagsToROS(t *testing.T) {
	t.Parallel()
	needROS(t)
	for _, bag := range oldBags(t) {
		t.Run(filepath.Base(bag), func(t *testing.T) {
			t.Parallel()
			g := newGraph(t, "roscore")
			want := hashes(t, bag)
			topics := slices.Sorted(maps.Keys(want))
			// One after the other: --wait-for-subscribers waits for one of each topic.
			play := func() {
				g.run("goplay", bag, "--wait-for-subscribers", "--queue", "0", "--rate", "4")
			}
			roscpp := g.start("/usr/lib/rosbag/record", append([]string{"-O", "out", "-b", "0"}, topics...)...)
			g.eventually("the roscpp recorder has its file", func() bool { return size(g, "out.bag.active") >= 0 })
			play()
			roscpp.stop()
			// By our reader: rosbag's Python API reads no messages of type *.
			compareOrder(t, "roscpp", want, hashes(t, filepath.Join(g.dir, "out.bag")))
			rospy := g.subscribe("listener", topics...)
			play()
			rospy.stop()
			got := map[string][]string{}
			for _, h := range rospy.heard() {
				got[h.Topic] = append(got[h.Topic], h.Data)
			}
			compareOrder(t, "rospy", want, got)
		})
	}
}

// TestPlayWithoutIndex plays what a killed recorder leaves.
func TestPlayWithoutIndex(t *testing.T) {
	t.Parallel()
	demo, err := os.ReadFile(demoBag(t))
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
			g := newGraph(t, "gomaster")
			if err := os.WriteFile(filepath.Join(g.dir, "x.bag.active"), tc.bag, 0o600); err != nil {
				t.Fatal(err)
			}
			rec := g.record("-a", "-x", "/rosout.*", "-O", "out")
			p := g.start("goplay", "x.bag.active", "--wait-for-subscribers", "--queue", "0", "--rate", "4")
			if code := p.wait(); code != tc.code || !strings.Contains(p.out.String(), tc.said) {
				t.Errorf("exit code %d, want %d and %q\n%s", code, tc.code, tc.said, p.out.String())
			}
			rec.stop()
			want, got := hashes(t, demoBag(t)), hashes(t, filepath.Join(g.dir, "out.bag"))
			for topic, list := range want {
				if n := len(got[topic]); n > len(list) || tc.code == 0 && n < len(list) || n == 0 && len(list) > 10 || !slices.Equal(list[:n], got[topic]) {
					t.Errorf("%s: %d of %d messages, or other ones", topic, n, len(list))
				}
			}
		})
	}
}
