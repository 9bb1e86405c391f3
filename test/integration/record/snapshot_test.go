//go:build unix

package record_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/load"
)

// snapshotting starts gorecord and waits until it keeps messages for snapshots.
func snapshotting(g *harness.Graph, args ...string) *harness.Process {
	g.T.Helper()
	p := g.Start("gorecord", args...)
	p.Printed("Keeping the latest messages")
	return p
}

// TestSnapshotForROS: triggers by ROS's tool and by a signal write bags that ROS reads,
// with the latched transforms that came long before.
func TestSnapshotForROS(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes in Python for seconds")
	harness.EachMasterForROS(t, func(t *testing.T, g *harness.Graph) {
		g.Start("rostopic", "pub", "/tf_static", "tf2_msgs/TFMessage", "transforms: []").Printed("publishing and latching")
		rec := snapshotting(g, "-a", "-x", "/rosout.*", "--snapshot", "--pre-roll", "1", "-O", "snap")
		rec.Printed(`"/tf_static"`)
		f := peers.NewFlood(g, "/t", 100_000)
		stalls := g.Stalls(rec)
		f.WaitSent(350)
		if names := bags.Names(g, "snap"); len(names) != 0 {
			t.Errorf("without a trigger there are %v", names)
		}
		trigger := map[string]func(){
			"snap.bag":   func() { g.Run("rostopic", "pub", "-1", "/snapshot_trigger", "std_msgs/Empty") },
			"snap_1.bag": func() { rec.Signal(syscall.SIGUSR1) },
		}
		for _, name := range []string{"snap.bag", "snap_1.bag"} {
			trigger[name]()
			g.Eventually(name+" is complete", func() bool { return harness.Size(g, name) > 0 })
			info := g.Run("rosbag", "info", name)
			harness.Contains(t, info, "/tf_static", "tf2_msgs/TFMessage", "/t ")
			g.Run("gobag", "check", name)
			for _, d := range bags.Dump(g, name) {
				if n := len(d.Messages); d.Topic == "/tf_static" && (n != 1 || d.Header["latching"] != "1" || !strings.HasPrefix(d.Header["callerid"], "/rostopic")) {
					t.Errorf("%s: %d messages of /tf_static with %v", name, n, d.Header)
				}
			}
			m := bags.Read(t, filepath.Join(g.Dir, name))["/t"].Messages
			still := stalls() // what is sent or read late comes at once
			stalls = g.Stalls(rec)
			if span := m[len(m)-1].Time.Sub(m[0].Time); span > 1010*time.Millisecond+still || span < 500*time.Millisecond-still {
				t.Errorf("%s reaches over %v, want 1 s; the machine stood still for %v", name, span, still)
			}
			f.WaitSent(f.Sent.Load() + 150) // the next one has none of these
		}
		rec.Stop()
		harness.Contains(t, rec.Out.String(), "Triggered snapshot recording with name 'snap_1.bag'.", "snapshots: 2, ", "lost: none")
	})
}

// TestSnapshotsUnderLoad: as many in a row as are taken at once, and two more, beside a recording. Together they hold every
// message once, as the recording does.
func TestSnapshotsUnderLoad(t *testing.T) {
	t.Parallel()
	harness.Long(t, "takes seconds of processor time")
	g := harness.NewGraph(t, "gomaster")
	ctx, cancel := context.WithTimeout(t.Context(), 2*harness.Timeout)
	defer cancel()
	pub, err := load.Advertise(ctx, "127.0.0.1:"+g.Port, "/loud", "/t")
	if err != nil {
		t.Fatal(err)
	}
	defer pub.Close()
	rec := snapshotting(g, "/t", "--snapshot-beside", "--post-roll", "0.02", "--lz4", "--overflow=block", "-O", "out")
	const messages = 10_000
	sent, stopped := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- pub.Serve(ctx, 1000, func(l *load.Link) error {
			err := l.Pace(ctx, messages, time.Millisecond/2, func(int, time.Time) error { return nil })
			again := time.NewTicker(5 * time.Millisecond)
			defer again.Stop()
			for unread := 1; unread > 0 && err == nil && ctx.Err() == nil; <-again.C { // else it would be in no snapshot
				unread, err = l.Unread()
			}
			if err == nil {
				close(sent)
				<-stopped // the link stays
			}
			return err
		})
	}()
	const snapshots = 12
	for n := range snapshots {
		rec.Signal(syscall.SIGUSR1)
		g.Eventually(fmt.Sprintf("%d snapshots", n+1), func() bool { return len(bags.Names(g, "out_snapshot_")) == n+1 })
	}
	select {
	case <-sent:
	case err := <-done:
		t.Fatal(err)
	}
	rec.Signal(syscall.SIGUSR1)
	g.Eventually("the last snapshot", func() bool { return len(bags.Names(g, "out_snapshot_")) == snapshots+1 })
	rec.Stop()
	close(stopped)
	seen := make([]int, messages)
	for _, name := range bags.Names(g, "out_snapshot_") {
		last := -1
		if topic := bags.Read(t, filepath.Join(g.Dir, "out_snapshot_"+name))["/t"]; topic != nil {
			for _, m := range topic.Messages {
				n := int(m.Data[4]) | int(m.Data[5])<<8
				if last >= 0 && n != last+1 {
					t.Fatalf("%s: %d after %d", name, n, last)
				}
				seen[n]++
				last = n
			}
		}
	}
	for n, times := range seen {
		if times != 1 {
			t.Fatalf("message %d is %d times in the snapshots", n, times)
		}
	}
	if n := len(bags.Read(t, filepath.Join(g.Dir, "out.bag"))["/t"].Messages); n != messages {
		t.Errorf("%d of %d messages in the recording", n, messages)
	}
	harness.Contains(t, rec.Out.String(), "snapshots: 13, ", "lost: none")
}

// triggers offers the topic of triggers.
func triggers(g *harness.Graph) *tcpros.Publication {
	g.T.Helper()
	p, err := peers.Node(g, "stuck").Advertise(tcpros.AdvertiseOptions{Topic: "/snapshot_trigger", Type: "std_msgs/Empty", MD5Sum: "d41d8cd98f00b204e9800998ecf8427e"})
	if err != nil {
		g.T.Fatal(err)
	}
	g.Eventually("the recorder listens", func() bool { return p.Subscribers() == 1 })
	return p
}

// TestTriggerFlood: 10,000 triggers in a second share snapshots, which are taken one at a time and
// after a burst one each second, and all are counted.
func TestTriggerFlood(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	f := peers.NewFlood(g, "/t", 100_000)
	rec := snapshotting(g, "/t", "--snapshot-beside", "--pre-roll", "0.1", "-O", "out")
	f.WaitSent(20)
	stuck := triggers(g).Source(false)
	descriptors := func() int {
		open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", rec.Cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		return len(open)
	}
	before, most := descriptors(), 0
	const count, atOnce, burst = 10_000, 10, 10
	pace := time.NewTicker(atOnce * time.Second / count)
	defer pace.Stop()
	start := time.Now()
	for n := 0; n < count; n += atOnce {
		for range atOnce {
			stuck.Publish(make([]byte, 4))
		}
		most = max(most, descriptors())
		<-pace.C
	}
	answered := regexp.MustCompile(`Triggered snapshot recording.*"triggers": (\d+)`)
	g.Eventually("the triggers are answered", func() bool {
		out := rec.Out.String()
		counted := answered.FindAllStringSubmatch(out, -1)
		sum := strings.Count(out, "Triggered snapshot recording") - len(counted) // the others had one each
		for _, m := range counted {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		return sum >= count || len(bags.Names(g, "out_snapshot_")) > 100
	})
	rec.Stop()
	bags, took := len(bags.Names(g, "out_snapshot_")), time.Since(start)
	t.Logf("%d snapshots in %v, %d files open before and at most %d during that", bags, took, before, most)
	if bags > burst+1+int(took/time.Second) {
		t.Errorf("%d snapshots in %v", bags, took)
	}
	if most > before+10 {
		t.Errorf("%d files are open, %d before", most, before)
	}
	harness.Contains(t, rec.Out.String(), fmt.Sprintf(`"triggers": %d`, count), "lost: none")
}

// TestSnapshotFails: a snapshot that cannot be written is reported in the exit code of the recording.
func TestSnapshotFails(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	dir := filepath.Join(g.Dir, "snaps")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	rec := snapshotting(g, "/t", "--snapshot", "-O", "snaps/snap")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	triggers(g).Source(false).Publish(make([]byte, 4))
	rec.Printed("no snapshot")
	rec.Signal(syscall.SIGINT)
	rec.Ended(3, "a snapshot could not begin")
}

// TestSnapshotKeepsLatched: a publisher latches twice within the pre-roll, beside two of /tf_static.
// A subscriber that comes where the snapshot begins gets what was latched then.
func TestSnapshotKeepsLatched(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	latch := func(node, topic string) func(text string) {
		s := peers.Advertise(g, peers.Node(g, node), topic, true).Source(true)
		return func(text string) { s.Publish(peers.StringFrame(text)) }
	}
	server, base, arm := latch("server", "/map"), latch("base", "/tf_static"), latch("arm", "/tf_static")
	server("map")
	base("base")
	arm("arm")
	rec := snapshotting(g, "/map", "/tf_static", "/t", "--snapshot-beside", "--pre-roll", "0.5", "-O", "run", "__name:=rec")
	f := peers.NewFlood(g, "/t", 100_000)
	recorded(g, "run.bag", 1, "/map", "/t")
	recorded(g, "run.bag", 2, "/tf_static")
	const rounds = 20
	for round := 1; ; round++ {
		f.WaitSent(f.Sent.Load() + 100) // about a second
		for i := range 2 {
			server(fmt.Sprintf("map %d.%d", round, i))
			arm(fmt.Sprintf("arm %d.%d", round, i))
			f.WaitSent(f.Sent.Load() + 5)
		}
		rec.Signal(syscall.SIGUSR1)
		g.Eventually("a snapshot", func() bool { return len(bags.Names(g, "run_snapshot_")) == round })
		names := bags.Names(g, "run_snapshot_")
		path := filepath.Join(g.Dir, "run_snapshot_"+names[len(names)-1])
		snapshot := bags.ReadLatched(t, path)
		within := 0
		for _, m := range snapshot.Messages {
			if m.Conn.Topic == "/map" && snapshot.Start.Before(m.Time) {
				within++
			}
		}
		if within == 2 {
			rec.Stop()
			whole := bags.ReadLatched(t, filepath.Join(g.Dir, "run.bag"))
			const after = time.Millisecond // a message at the start itself comes when play goes on
			want := whole.At(snapshot.Start.Add(after))
			if len(want) != 3 {
				t.Fatalf("%d publishers have latched something", len(want))
			}
			bags.WaitForLatched(harness.NewGraph(t, "gomaster"), path, after, whole.Topics(), want) // without the publishers
			return
		}
		if round == rounds { // else the machine has stood still between the messages and the trigger
			t.Fatalf("%d messages of /map within the pre-roll", within)
		}
	}
}

// TestSnapshotSignalWithoutSnapshots: the signal for a snapshot does not end a recording without
// --snapshot.
func TestSnapshotSignalWithoutSnapshots(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	rec := g.Record("-a", "-O", "out")
	rec.Signal(syscall.SIGUSR1)
	rec.Printed("no snapshots are kept ready")
	rec.Stop()
}
