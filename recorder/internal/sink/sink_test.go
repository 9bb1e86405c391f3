package sink_test

import (
	"errors"
	"maps"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/files"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/recorder/internal/retention"
	"github.com/gorosbag/gorosbag/recorder/internal/rotation"
	"github.com/gorosbag/gorosbag/recorder/internal/sink"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errInjected = errors.New("injected")

// handover needs no files.
type handover struct{}

func (handover) Begun(string)           {}
func (handover) Finished(string, int64) {}

// volume is a disk whose free space the test sets, and whose next writes of chunks fail.
type volume struct {
	free   atomic.Int64
	faults atomic.Int64 // so many writes of chunks to come fail
	err    error
}

// faultyFile is a file on a volume.
type faultyFile struct {
	disk.Handle
	*volume
}

func (f faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if len(p) > messageBytes && f.faults.Add(-1) >= 0 {
		return 0, f.err
	}
	return f.Handle.WriteAt(p, off)
}

// messageBytes is the size of the messages of the tests. A chunk is one message.
const messageBytes = 10_000

// recording is a sink that writes what an intake queues.
type recording struct {
	*sink.Sink
	in   *intake.Intake
	link *intake.Link
	sent uint32
}

// newRecording begins a recording that splits its files, on a disk with room for all.
func newRecording(t *testing.T, v *volume, o sink.Config) *recording {
	t.Helper()
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	log := o.Log
	v.free.Store(1 << 40)
	outputs, err := bagfile.OpenSeries(bagname.Output{Name: filepath.Join(t.TempDir(), "x")}, bagfile.SyncNone, true, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = outputs.Close() })
	outputs.Wrap = func(h disk.Handle) disk.Handle { return faultyFile{h, v} }
	free := func() (int64, error) { return v.free.Load(), nil }
	first, err := files.Create(outputs, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	encoder := o.Encoder
	if encoder == nil {
		encoder = encode.New(encode.Options{})
	}
	in := intake.New(intake.Config{
		Log: log, Node: "/rec", Flush: time.Hour, Encoder: encoder, OnChange: func() {}, Rotation: rotation.Options{Split: true},
		Memory: memory.Options{Limit: 64 << 20, ChunkBytes: messageBytes / 2},
	})
	o.In, o.Accounts, o.Buffers = in, in.Accounts, &in.Buffers
	o.Encoder, o.Compression = encoder, rosbag.CompressionNone
	o.Bags = files.Config{
		Outputs: outputs, Retain: retention.New(retention.Limits{}, log, free, func(string) bool { return false }),
		Disk: disk.NewSpace(leastSpace, "1M", nil, free, log), Handover: handover{}, OnChange: func() {},
	}
	s := sink.New(o, first)
	s.Bags.Opened(first)
	link, err := in.OpenLink(in.Accounts.AddTopic("/t", "/t", time.Time{}), testlink.Info("/t", "/p"))
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	return &recording{Sink: s, in: in, link: link}
}

// leastSpace is what has to be free on a volume.
const leastSpace = 1 << 20

// send sends messages, each of which fills a chunk.
func (r *recording) send(messages int) {
	for range messages {
		r.link.Frames(testlink.Frame(1, r.sent, messageBytes), 1, time.Now())
		r.sent++
	}
}

// end ends the recording and returns its error.
func (r *recording) end() error {
	r.in.Close()
	return r.Close()
}

// check checks how many messages are in each bag, and why others are lost.
func (r *recording) check(t *testing.T, dropped [control.DropCauses]uint64, bags ...int) {
	t.Helper()
	var kept uint64
	all := r.Bags.Finished.List()
	if len(all) != len(bags) {
		t.Fatalf("%d bags, want %d", len(all), len(bags))
	}
	for i, b := range all {
		byTime, _ := testlink.Numbers(t, b.Name)
		if n := len(byTime[1]); n != bags[i] {
			t.Errorf("bag %d has %d messages, want %d", i, n, bags[i])
		}
		kept += uint64(bags[i])
	}
	want := map[string]uint64{}
	for cause, n := range dropped {
		if n > 0 {
			want[control.DropCause(cause).String()] = n
		}
	}
	if topic := r.in.Accounts.Summary(time.Now()).Topics[0]; topic.Messages != kept || !maps.Equal(topic.Dropped, want) {
		t.Errorf("%d messages counted, dropped %v; want %d, %v", topic.Messages, topic.Dropped, kept, want)
	}
}

// TestFaults: a fault costs nothing once, for the recording goes on in a new file. After a second fault, or
// on a full disk, where a new file would not help, it ends and says so.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err    error
		faults int64
		failed bool
		bags   []int
	}{
		"none":         {nil, 0, false, []int{5}},
		"a fault":      {errInjected, 1, false, []int{2, 3}},
		"two faults":   {errInjected, 2, true, []int{2, 0}},
		"a full disk":  {syscall.ENOSPC, 1, true, []int{2}},
		"a full quota": {syscall.EDQUOT, 1, true, []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := &volume{err: test.err}
			r := newRecording(t, v, sink.Config{})
			r.send(2)
			if _, err := r.Pin(t.Context(), time.Now()); err != nil { // what was sent before is written now
				t.Fatal(err)
			}
			v.faults.Store(test.faults)
			r.send(3)
			if err := r.end(); !errors.Is(err, test.err) {
				t.Errorf("ends with %v, want %v", err, test.err)
			}
			var dropped [control.DropCauses]uint64
			select {
			case <-r.Failed:
				dropped[control.DropDisk] = 3
				if !test.failed || !r.SkipsCompression() {
					t.Errorf("failed, and compresses what is given up: %v", !r.SkipsCompression())
				}
			default:
				if test.failed || r.SkipsCompression() {
					t.Error("not failed")
				}
			}
			r.check(t, dropped, test.bags...)
		})
	}
}

// TestFaultAfterAFailover: the recording goes on in a new file once, however long ago that was.
func TestFaultAfterAFailover(t *testing.T) {
	t.Parallel()
	v := &volume{err: errInjected}
	r := newRecording(t, v, sink.Config{})
	for _, messages := range []int{1, 2} {
		v.faults.Store(1)
		r.send(messages)
		if _, err := r.Pin(t.Context(), time.Now()); err != nil && !errors.Is(err, control.ErrNotRecording) {
			t.Fatal(err)
		}
	}
	if err := r.end(); !errors.Is(err, errInjected) {
		t.Errorf("ends with %v", err)
	}
	r.check(t, [control.DropCauses]uint64{control.DropDisk: 2}, 0, 1)
}

// TestReport: the account of losses is the last message of a bag, with the time of the message before, and counts
// for its topic.
func TestReport(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.WarnLevel)
	frame := testlink.Frame(2, 0, 100)
	var at time.Time
	r := newRecording(t, &volume{}, sink.Config{
		Log: zap.New(core), ReportTopic: "/losses", Report: func(now time.Time) []byte { at = now; return frame },
	})
	r.send(2)
	if err := r.end(); err != nil {
		t.Error(err)
	}
	var last *rosbag.Message
	for m, err := range rosbag.Messages(testlink.OpenBag(t, r.Bags.Finished.List()[0].Name), rosbag.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		last = &rosbag.Message{Conn: m.Conn, Time: m.Time}
	}
	if last.Conn.Topic != "/losses" || !last.Time.Std().Equal(at) {
		t.Errorf("the last message is on %s at %v, want /losses at %v", last.Conn.Topic, last.Time.Std(), at)
	}
	if s := r.in.Accounts.Summary(time.Now()).Topics; len(s) != 2 || s[0].Topic != "/losses" || s[0].Messages != 1 || s[0].Bytes != 100 {
		t.Errorf("counted: %+v", s)
	}
	if all := logs.All(); len(all) > 0 {
		t.Errorf("logged: %v", all)
	}
}

// TestDrainAborted: what is still queued is given up and counted, and the bag is closed.
func TestDrainAborted(t *testing.T) {
	t.Parallel()
	abort := make(chan struct{})
	r := newRecording(t, &volume{}, sink.Config{AbortDrain: abort})
	r.send(2)
	if _, err := r.Pin(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	close(abort)
	r.send(3)
	if err := r.end(); err != nil {
		t.Error(err)
	}
	var dropped [control.DropCauses]uint64
	dropped[control.DropAborted] = 3
	r.check(t, dropped, 2)
}

// TestCompressorThatFails: no message is lost, the chunks are in the bag without compression.
func TestCompressorThatFails(t *testing.T) {
	t.Parallel()
	encoder := encode.New(encode.Options{Log: zap.NewNop(), Compression: "zip", Workers: 1, Room: 64 << 20})
	r := newRecording(t, &volume{}, sink.Config{Encoder: encoder})
	encoder.Start(r.SkipsCompression)
	r.send(3)
	if err := r.end(); err != nil {
		t.Error(err)
	}
	r.check(t, [control.DropCauses]uint64{}, 3)
	if chunks := r.Chunks(); chunks[rosbag.CompressionNone] != 3 {
		t.Errorf("chunks by compression: %v", chunks)
	}
}

// TestFilesOfCommands: messages are in the file that was open when they came, and each command answers with
// its file.
func TestFilesOfCommands(t *testing.T) {
	t.Parallel()
	r := newRecording(t, &volume{}, sink.Config{})
	r.send(1)
	c, err := r.in.RequestSplit(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r.send(2)
	if name, err := c.ClosedFile(t.Context()); err != nil || filepath.Base(name) != "x_0.bag" {
		t.Errorf("split: %s, %v", name, err)
	}
	if c, err = r.in.RequestStop(); err != nil {
		t.Fatal(err)
	}
	if name, err := c.ClosedFile(t.Context()); err != nil || filepath.Base(name) != "x_1.bag" || r.Current() != nil {
		t.Errorf("stop: %s, %v; then writes %v", name, err, r.Current())
	}
	r.send(1) // while stopped
	if c, err = r.in.RequestStart(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(t.Context()); err != nil || filepath.Base(c.File.Target()) != "x_2.bag" {
		t.Errorf("start: %v, %v", c.File, err)
	}
	r.send(3)
	if err := r.end(); err != nil {
		t.Error(err)
	}
	r.check(t, [control.DropCauses]uint64{}, 1, 2, 3)
}

// TestTooLittleSpace: no file begins on a disk that is nearly full. A split then costs nothing, for the old
// file goes on until the session ends the recording.
func TestTooLittleSpace(t *testing.T) {
	t.Parallel()
	v := &volume{}
	r := newRecording(t, v, sink.Config{})
	r.send(1)
	var c *queue.Command
	var err error
	for _, free := range []int64{leastSpace + 2*disk.LeastRoom - 1, leastSpace - 1} { // first, a bag would begin, and end at once
		v.free.Store(free)
		if c, err = r.in.RequestSplit(time.Now()); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(t.Context()); !errors.Is(err, disk.ErrMinSpace) {
			t.Errorf("split: %v", err)
		}
	}
	<-r.Bags.Disk.Full // tells the session
	r.send(1)
	if c, err = r.in.RequestStop(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ClosedFile(t.Context()); err != nil {
		t.Errorf("stop: %v", err)
	}
	if c, err = r.in.RequestStart(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(t.Context()); !errors.Is(err, disk.ErrMinSpace) || r.Current() != nil {
		t.Errorf("start: %v", err)
	}
	if err := r.end(); err != nil {
		t.Error(err)
	}
	r.check(t, [control.DropCauses]uint64{}, 2)
}

// TestCommandsAtTheEnd: a command after a fault that has ended the recording answers that nothing is
// recorded.
func TestCommandsAtTheEnd(t *testing.T) {
	t.Parallel()
	v := &volume{err: syscall.ENOSPC}
	r := newRecording(t, v, sink.Config{})
	v.faults.Store(1)
	r.send(1)
	c, err := r.in.RequestSplit(time.Now())
	if err == nil { // otherwise the intake knows already
		err = c.Wait(t.Context())
	}
	if !errors.Is(err, control.ErrNotRecording) {
		t.Errorf("split: %v", err)
	}
	if err := r.end(); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
}
