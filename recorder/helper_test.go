package recorder

import (
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/annotations"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/files"
	"github.com/gorosbag/gorosbag/recorder/internal/health"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/retention"
	"github.com/gorosbag/gorosbag/recorder/internal/sink"
	"github.com/gorosbag/gorosbag/recorder/internal/subscribe"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/tcpros"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pipeline is what brings frames from the links to the files, without a session around it.
type pipeline struct {
	*session
	*intake.Intake
	*intake.Accounts
	*sink.Sink
	begun time.Time // when the recording began
}

// sessionOn is a session with other options that records with p.
func sessionOn(p *pipeline, o Options) *session {
	w := annotations.New(p, zap.NewNop())
	return &session{o: o, in: p.in, own: w, sink: p.sink, health: health.New(o.health(p, w)), subs: subscribe.New(o.subscriptions())}
}

// testPipeline is a pipeline on a file in a directory of the test.
func testPipeline(t testing.TB, o Options, wrap func(disk.Handle) disk.Handle) *pipeline {
	t.Helper()
	return pipelineSince(t, time.Now(), o, wrap)
}

// pipelineSince is a testPipeline whose recording began at a time that may be long ago.
func pipelineSince(t testing.TB, begun time.Time, o Options, wrap func(disk.Handle) disk.Handle) *pipeline {
	t.Helper()
	o.Select.All, o.Node = true, new(tcpros.Node)
	o, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	o.Output.Name = filepath.Join(t.TempDir(), "test")
	outputs, err := bagfile.OpenSeries(o.Output, o.Sync, o.Split, o.Log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { outputs.Close() })
	var out *files.Bag
	if o.Begin != control.StateStopped && o.Snapshot.Mode != control.SnapshotOnly {
		if out, err = files.Create(outputs, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if wrap != nil { // the head of the first file is written already
		out.Wrap(wrap)
		outputs.Wrap = wrap
	}
	retain := retention.New(o.Retain, o.Log, outputs.Free, o.handover().Keeps)
	r := &session{o: o}
	r.wire(outputs, retain, out, begun)
	return &pipeline{session: r, Intake: r.in, Accounts: r.in.Accounts, Sink: r.sink, begun: begun}
}

func open(t testing.TB, p *pipeline, topic, publisher string) *intake.Link {
	t.Helper()
	l, err := p.OpenLink(p.AddTopic(topicname.InBag(topic), topicname.InGraph(topic), time.Time{}), testlink.Info(topic, publisher))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// checkCount checks that the numbers 0 to n-1 are all there, in order.
func checkCount(t *testing.T, what string, got map[uint32][]uint32, publishers, n int) {
	t.Helper()
	if len(got) != publishers {
		t.Errorf("%s: %d publishers, want %d", what, len(got), publishers)
	}
	for publisher, all := range got {
		if len(all) != n {
			t.Errorf("%s: publisher %d: %d messages, want %d", what, publisher, len(all), n)
		}
		for i, v := range all {
			if int(v) != i {
				t.Errorf("%s: publisher %d: message %d at place %d", what, publisher, v, i)
				break
			}
		}
	}
}

// publish sends runs of small frames and, every seventh time, a large one.
func publish(l tcpros.LinkSink, publisher uint32, messages int) {
	for n := 0; n < messages; {
		if n%7 == 0 {
			testlink.SendLarge(l, testlink.Frame(publisher, uint32(n), 3000))
			n++
			continue
		}
		var run []byte
		count := 0
		for ; count < 3 && n < messages && n%7 != 0; count++ {
			run = append(run, testlink.Frame(publisher, uint32(n), 100*(n%5))...)
			n++
		}
		l.Frames(run, count, time.Now())
	}
}

// sendLarge sends one message of n bytes as the node does.
func sendLarge(t *testing.T, l tcpros.LinkSink, seq uint32, n int) {
	t.Helper()
	frame := testlink.Numbered(seq)
	frame = append(frame, make([]byte, n)...)
	frame[0], frame[1], frame[2], frame[3] = byte(n+12), byte((n+12)>>8), byte((n+12)>>16), byte((n+12)>>24)
	testlink.SendLarge(l, frame)
}
