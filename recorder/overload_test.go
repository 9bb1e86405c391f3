package recorder

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
	"github.com/gorosbag/gorosbag/test/load"
)

// throttled is a file that takes no more than some bytes a second.
type throttled struct {
	disk.Handle
	rate int64
	next time.Time // when it takes more; owned by the writer
}

func (f *throttled) WriteAt(b []byte, off int64) (int, error) {
	if now := time.Now(); f.next.Before(now) {
		f.next = now
	}
	f.next = f.next.Add(time.Duration(len(b)) * time.Second / time.Duration(f.rate))
	<-time.After(time.Until(f.next))
	return f.Handle.WriteAt(b, off)
}

// TestFloodCostsNoIMUMessage records a camera that floods, beside an IMU, from sockets to
// a disk that takes 20 MB/s. Every message is in the bag or counted as dropped, and no one
// of the IMU is dropped.
func TestFloodCostsNoIMUMessage(t *testing.T) {
	t.Parallel()
	m, err := master.New(t.Context(), master.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	node, err := tcpros.NewNode(t.Context(), tcpros.NodeOptions{BaseName: "record", MasterURI: m.URI(), Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close(t.Context())
	p := testPipeline(t, Options{BufferBytes: 16 << 20}, func(f disk.Handle) disk.Handle { return &throttled{Handle: f, rate: 20_000_000} })
	subscribe := func(name string) (*account.Topic, *load.Publisher) {
		topic := p.AddTopic(topicname.InBag(name), topicname.InGraph(name), time.Time{})
		pub, err := load.Advertise(t.Context(), m.Addr().String(), "/pub"+name, name)
		if err != nil {
			t.Fatal(err)
		}
		sub, err := node.Subscribe(tcpros.SubscribeOptions{Topic: name, Open: func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
			return p.OpenLink(topic, info)
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			sub.Close()
			pub.Close()
		})
		return topic, pub
	}

	camera, cameraPub := subscribe("/camera")
	_, imuPub := subscribe("/imu")
	const imuMessages, imuBytes, cameraBytes = 200, 320, 1 << 20
	stop, flooded := make(chan struct{}), make(chan error, 1)
	var cameraMessages int
	go func() {
		flooded <- cameraPub.Serve(t.Context(), cameraBytes, func(l *load.Link) (err error) {
			cameraMessages, err = l.Flood(1<<30, stop)
			return err
		})
	}()
	testlink.WaitFor(t, func() bool {
		return slices.ContainsFunc(accountsNow(p), func(s control.TopicSummary) bool {
			return s.Topic == string(camera.Name()) && s.Dropped[control.DropBufferFull.String()] > 0
		})
	})
	err = imuPub.Pace(t.Context(), imuBytes, imuMessages, 2*time.Millisecond, func(int) { p.tick(time.Now()) })
	close(stop)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-flooded; err != nil { // it returns when all has been read
		t.Fatal(err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}

	byTime, _ := testlink.Numbers(t, p.Current().Target())
	checkCount(t, "imu", map[uint32][]uint32{0: byTime[imuBytes-4]}, 1, imuMessages)
	recorded, dropped := len(byTime[cameraBytes-4]), camera.Lost()
	t.Logf("camera: %d published, %d recorded, %d dropped", cameraMessages, recorded, dropped)
	if uint64(recorded) != camera.Tally().Messages || recorded+int(dropped) != cameraMessages || recorded == 0 {
		t.Errorf("camera: %d in the bag, %d counted, %d dropped, %d published", recorded, camera.Tally().Messages, dropped, cameraMessages)
	}
	for _, s := range accountsNow(p) {
		want := map[string]uint64(nil)
		if s.Topic == string(camera.Name()) {
			want = map[string]uint64{control.DropBufferFull.String(): dropped}
		}
		if !maps.Equal(s.Dropped, want) {
			t.Errorf("dropped of %s: %v, want %v", s.Topic, s.Dropped, want)
		}
	}
}
