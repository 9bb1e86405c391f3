package main

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
)

var seed = flag.Uint64("seed", 1, "of the random tests")

// randomBag makes messages of several topics, publishers and connections, with equal times,
// equal payloads and a file order that is not that of time.
func randomBag(r *rand.Rand) []sent {
	var headers []rosbag.Header
	for i := range 1 + r.IntN(5) {
		topic := fmt.Sprintf("/topic%d", i)
		kind := [][2]string{{"std_msgs/String", "string data\n"}, {"std_msgs/Empty", ""}, {"test_msgs/Pose", poseDefinition}}[r.IntN(3)]
		for k := range 1 + r.IntN(3) {
			latching := fmt.Sprint(r.IntN(2))
			for range 1 + r.IntN(2)*r.IntN(2) { // now and then a publisher that came twice
				headers = append(headers, headerFor(topic, fmt.Sprintf("/node%d", k), latching, kind[0], kind[1]))
				latching = "0"
			}
		}
	}
	var list []sent
	span := []int{1, 50, 2000}[r.IntN(3)]
	for i := range r.IntN(300) {
		h := headers[r.IntN(len(headers))]
		topic, _ := h.Get("topic")
		m := sent{topic: topic, header: h, at: time.Duration(r.IntN(span)) * time.Millisecond}
		switch h.Type() {
		case "std_msgs/String":
			m.data = append([]byte{1, 0, 0, 0}, byte('a'+r.IntN(3)))
		case "test_msgs/Pose":
			m.data = poseData(uint32(i), m.at, r.Float64(), "n", make([]byte, r.IntN(2000))...)
		}
		list = append(list, m)
	}
	if r.IntN(2) == 0 {
		slices.SortStableFunc(list, func(a, b sent) int { return cmp.Compare(a.at, b.at) })
	}
	return list
}

// TestDiffRoundTrips writes random bags in each of several ways: the messages stay the same, in all
// times.
func TestDiffRoundTrips(t *testing.T) {
	testkit.SkipInRace(t, "other tests of the comparison run the same goroutines on smaller bags")
	t.Parallel()
	ways := map[string][]string{
		"lz4":            {"compress -q --lz4 --output-dir DIR IN"},
		"bz2":            {"compress -q --output-dir DIR IN"},
		"lz4 and back":   {"compress -q --lz4 --output-dir DIR IN", "decompress -q --output-dir DIR/2 DIR/in.bag"},
		"small chunks":   {"convert -q --chunksize 1 IN DIR/out.bag"},
		"one a chunk":    {"convert -q --chunksize 0 --compression lz4 IN DIR/out.bag"},
		"filtered":       {"filter -q -t * IN DIR/out.bag"},
		"reindexed":      {"reindex -q --output-dir DIR IN"},
		"split by time":  {"split -q --no-latched --duration 0.1 IN DIR/part", "merge -q -o DIR/out.bag DIR/part_*"},
		"split by size":  {"split -q --no-latched --size 1M IN DIR/part", "merge -q -o DIR/out.bag DIR/part_*"},
		"split, latched": {"split -q --duration 0.1 IN DIR/part", "merge -q -o DIR/out.bag DIR/part_*"},
		"split by topic": {"split -q --topic IN DIR/part", "merge -q -o DIR/out.bag DIR/part_*"},
	}
	rounds := 3
	if testkit.Full() {
		rounds = 10
	}
	for name, commands := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range rounds {
				r := rand.New(rand.NewPCG(*seed, uint64(round*len(ways)+len(name))))
				dir := t.TempDir()
				in, out := filepath.Join(dir, "in.bag"), filepath.Join(dir, "out", "out.bag")
				list := randomBag(r)
				if len(list) == 0 {
					list = run100()
				}
				compression := []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4, rosbag.CompressionBZ2}[r.IntN(3)]
				writeSent(t, in, bagfmt.WriterOptions{Compression: compression, ChunkBytes: []int{1, 1000, 100_000}[r.IntN(3)]}, list)
				makeDirs(t, filepath.Join(dir, "out", "2"))
				for _, command := range commands {
					command = strings.NewReplacer("IN", in, "DIR", filepath.Join(dir, "out")).Replace(command)
					if code, stdout, stderr := gobag(strings.Fields(command)...); code != 0 {
						t.Fatalf("seed %d, round %d: gobag %s: code %d, %s%s", *seed, round, command, code, stdout, stderr)
					}
					if name == "lz4 and back" {
						out = filepath.Join(dir, "out", "2", "in.bag")
					} else if strings.Contains(command, "output-dir") {
						out = filepath.Join(dir, "out", "in.bag")
					}
				}
				for _, args := range [][]string{{"--times", "0"}, {"--by", "header"}} {
					code, stdout, stderr := gobag(append([]string{"diff", in, out}, args...)...)
					want := fmt.Sprintf("Same: %d messages on ", len(list))
					if code != 0 || stderr != "" || !strings.HasPrefix(stdout, want) && len(list) != 1 {
						t.Fatalf("seed %d, round %d, %v: code %d, %s%s", *seed, round, args, code, stdout, stderr)
					}
				}
			}
		})
	}
}

// TestDiffOldVersions compares bags of every old version with what convert makes of them.
func TestDiffOldVersions(t *testing.T) {
	testkit.SkipInRace(t, "other tests of the comparison run the same goroutines on smaller bags")
	t.Parallel()
	old, err := filepath.Glob("../../bagfmt/testdata/old/*.bag")
	if err != nil || len(old) == 0 {
		t.Fatalf("%d bags, %v", len(old), err)
	}
	compared := 0
	for _, path := range old {
		out := filepath.Join(t.TempDir(), "out.bag")
		if code, _, _ := gobag("convert", "-q", "--allow-empty", path, out); code == 1 {
			continue // nothing in it
		}
		code, stdout, stderr := gobag("diff", "--times", "0", path, out)
		damaged := stderr != ""
		if strings.HasPrefix(stdout, "Same") && (code == 0 || damaged && code == 3) {
			compared++
			continue
		}
		// A connection without messages is not converted.
		if !strings.Contains(stdout, "0  0  topic only in A") || strings.Contains(stdout, "message") && strings.Contains(stdout, "changed") {
			t.Errorf("%s: code %d\n%s%s", path, code, stdout, stderr)
		}
	}
	if compared < 35 {
		t.Errorf("%d of %d bags are the same", compared, len(old))
	}
}

func makeDirs(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
}
