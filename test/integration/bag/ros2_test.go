package bag_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// TestPlayROS2 plays a recording of ROS 2 and compares what arrives with the bag that it was made of.
func TestPlayROS2(t *testing.T) {
	t.Parallel()
	for _, storage := range []string{"mcap", "sqlite3"} {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			demo := bags.Demo(t)
			g.Run("gobag", "convert", demo, "ros2", "--to", "ros2", "--storage", storage, "--latched-apart")
			g.Run("gobag", "convert", "ros2", "back.bag")
			rec := g.Record("-a", "-x", "/rosout", "-O", "copy")
			g.Start("goplay", "ros2", "--rate=8", "--wait-for-subscribers", "--overflow", "block").Ended(0)
			rec.Stop()
			if code, out := diff(g, "back.bag", "copy.bag"); code != 0 || !strings.HasPrefix(out, "Same but for the times: 2163 messages on 8 topics") {
				t.Errorf("code %d\n%s", code, out)
			}
		})
	}
}

// TestKilledConvert kills a conversion to ROS 2: nothing has the name of the recording, and the next
// conversion is not in its way.
func TestKilledConvert(t *testing.T) {
	t.Parallel()
	head, err := os.ReadFile(bags.Demo(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, storage := range []string{"mcap", "sqlite3"} {
		g := &harness.Graph{T: t, Port: "1", Dir: t.TempDir()}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		args := []string{"convert", "-", "out", "--to", "ros2", "--storage", storage}
		cmd := g.Command("gobag", args...)
		cmd.Stdin = r
		p := g.Launch("gobag", cmd)
		r.Close()
		if _, err := w.Write(head[:len(head)/2]); err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, "the temporary directory is there", func() bool { return len(files(t, g.Dir)) == 1 })
		p.Signal(syscall.SIGKILL)
		p.Wait()
		w.Close()
		left := files(t, g.Dir)
		if len(left) != 1 || !strings.HasPrefix(left[0], ".out.") || !strings.HasSuffix(left[0], ".tmp") {
			t.Errorf("left behind: %v", left)
		}
		g.Run("gobag", append(args[:1:1], append([]string{bags.Demo(t)}, args[2:]...)...)...)
		if entries := files(t, filepath.Join(g.Dir, "out")); len(entries) != 2 {
			t.Errorf("the next conversion has made %v", entries)
		}
	}
}
