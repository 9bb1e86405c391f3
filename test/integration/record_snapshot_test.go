//go:build unix

package integration_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/load"
)

// snapshotting starts gorecord and waits until it keeps messages for snapshots.
func (g *graph) snapshotting(args ...string) *process {
	g.t.Helper()
	p := g.start("gorecord", args...)
	p.printed("Keeping the latest messages")
	return p
}

// TestSnapshotForROS: triggers by ROS's tool and by a signal write bags that ROS reads,
// with the latched transforms that came long before.
func TestSnapshotForROS(t *testing.T) {
	t.Parallel()
	needROS(t)
	eachMaster(t, func(t *testing.T, g *graph) {
		g.start("rostopic", "pub", "/tf_static", "tf2_msgs/TFMessage", "transforms: []").printed("publishing and latching")
		rec := g.snapshotting("-a", "-x", "/rosout.*", "--snapshot", "--pre-roll", "1", "-O", "snap")
		rec.printed(`"/tf_static"`)
		f := g.flood("/t", 2000)
		f.waitSent(350)
		if names := g.bags("snap"); len(names) != 0 {
			t.Errorf("without a trigger there are %v", names)
		}
		trigger := map[string]func(){
			"snap.bag":   func() { g.run("rostopic", "pub", "-1", "/snapshot_trigger", "std_msgs/Empty") },
			"snap_1.bag": func() { rec.signal(syscall.SIGUSR1) },
		}
		for _, name := range []string{"snap.bag", "snap_1.bag"} {
			trigger[name]()
			g.eventually(name+" is complete", func() bool { return size(g, name) > 0 })
			info := g.run("rosbag", "info", name)
			contains(t, info, "/tf_static", "tf2_msgs/TFMessage", "/t ")
			g.run("gobag", "check", name)
			for _, d := range g.dump(name) {
				if n := len(d.Messages); d.Topic == "/tf_static" && (n != 1 || d.Header["latching"] != "1" || !strings.HasPrefix(d.Header["callerid"], "/rostopic")) {
					t.Errorf("%s: %d messages of /tf_static with %v", name, n, d.Header)
				}
			}
			m := read(t, filepath.Join(g.dir, name))["/t"].Messages
			if span := m[len(m)-1].Time.Sub(m[0].Time); span > 1010*time.Millisecond || span < 500*time.Millisecond {
				t.Errorf("%s reaches over %v, want 1 s", name, span)
			}
			f.waitSent(f.sent.Load() + 150) // the next one has none of these
		}
		rec.stop()
		contains(t, rec.out.String(), "Triggered snapshot recording with name 'snap_1.bag'.", "snapshots: 2, ", "lost: none")
	})
}

// TestSnapshotsUnderLoad: 50 in a row beside a recording. Together they hold every
// message once, as the recording does.
func TestSnapshotsUnderLoad(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	pub, err := load.Advertise(ctx, "127.0.0.1:"+g.port, "/loud", "/t")
	if err != nil {
		t.Fatal(err)
	}
	defer pub.Close()
	rec := g.snapshotting("/t", "--snapshot-beside", "--post-roll", "0.02", "--lz4", "--overflow=block", "-O", "out")
	const messages = 10_000
	sent, stopped := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- pub.Pace(ctx, 1000, messages, time.Millisecond/2, func(n int) {
			if n == messages {
				close(sent)
				<-stopped // the link stays
			}
		})
	}()
	const snapshots = 50
	for n := range snapshots {
		rec.signal(syscall.SIGUSR1)
		g.eventually(fmt.Sprintf("%d snapshots", n+1), func() bool { return len(g.bags("out_snapshot_")) == n+1 })
	}
	select {
	case <-sent:
	case err := <-done:
		t.Fatal(err)
	}
	rec.signal(syscall.SIGUSR1)
	g.eventually("the last snapshot", func() bool { return len(g.bags("out_snapshot_")) == snapshots+1 })
	rec.stop()
	close(stopped)
	seen := make([]int, messages)
	for _, name := range g.bags("out_snapshot_") {
		last := -1
		if topic := read(t, filepath.Join(g.dir, "out_snapshot_"+name))["/t"]; topic != nil {
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
	if n := len(read(t, filepath.Join(g.dir, "out.bag"))["/t"].Messages); n != messages {
		t.Errorf("%d of %d messages in the recording", n, messages)
	}
	contains(t, rec.out.String(), "snapshots: 51, ", "lost: none")
}

// TestSnapshotSignalWithoutSnapshots: it ends no recording.
func TestSnapshotSignalWithoutSnapshots(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	rec := g.record("-a", "-O", "out")
	rec.signal(syscall.SIGUSR1)
	rec.printed("no snapshots are kept ready")
	rec.stop()
}
