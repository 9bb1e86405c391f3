package intake

import (
	"bytes"
	"encoding/binary"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/tcpros"
)

// TestArrivalsAllocateNothing: neither what is noted of each message, nor what the watcher asks four times a second.
func TestArrivalsAllocateNothing(t *testing.T) {
	in := bareIntake(-1, 100)
	l := linkOf(t, in, testlink.HeaderInfo("/t", "p"))
	run := testlink.Numbered(testlink.Count(0, 100)...)
	all := make([]finding.Arrivals, 0, 4)
	if n := testing.AllocsPerRun(100, func() {
		l.connection.Came(time.Now(), 100, run)
		all, _ = in.Arrivals(all[:0])
	}); n != 0 || len(all) != 1 {
		t.Errorf("%v allocations, %d topics", n, len(all))
	}
}

// TestArrivals: whatever becomes of messages, what came of a topic is counted, with the stamp of messages that have one.
func TestArrivals(t *testing.T) {
	t.Parallel()
	in := bareIntake(1<<20, 100)
	header := func(seq, sec, nsec uint32, more int) []byte {
		b := binary.LittleEndian.AppendUint32(nil, uint32(16+more))
		for _, v := range []uint32{seq, sec, nsec, 0} {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		return append(b, make([]byte, more)...)
	}
	open := func(name string, info tcpros.LinkInfo) *Link {
		l, err := in.OpenLink(in.Accounts.AddTopic(topicname.InBag(name), topicname.InGraph(name), time.Time{}), info)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	stamped, plain, latched := open("/stamped", testlink.HeaderInfo("/stamped", "/p")), open("/plain", testlink.Info("/plain", "/p")), open("/latched", testlink.LatchedInfo("/latched", "/p"))
	at := time.Unix(1000, 0)
	stamped.Frames(append(header(1, 7, 5, 0), header(2, 8, 6, 0)...), 2, at)
	plain.Frames(header(1, 7, 5, 0), 1, at)
	latched.Frames(header(1, 7, 5, 0), 1, at)
	if err := in.Pause(); err != nil {
		t.Fatal(err)
	}
	stamped.Frames(header(3, 9, 1, 0), 1, at.Add(time.Second))
	stamped.Frames([]byte{4, 0, 0, 0, 9, 9, 9, 9}, 1, at.Add(time.Second)) // too short for a stamp
	plain.Closed(io.EOF)
	latched.Closed(syscall.EHOSTUNREACH)
	got, recording := in.Arrivals(nil)
	want := []finding.Arrivals{
		{Topic: "/stamped", Messages: 4, Last: at.Add(time.Second), Stamp: 9e9 + 1, Stamped: at.Add(time.Second), Links: 1, Opened: 1},
		{Topic: "/plain", Messages: 1, Last: at, Opened: 1},
		{Topic: "/latched", Messages: 1, Last: at, Opened: 1, Latched: true, Broken: true},
	}
	if diff := cmp.Diff(want, got); diff != "" || recording {
		t.Errorf("recording: %v; (-want +got):\n%s", recording, diff)
	}
	if linked := in.Linked("/stamped"); len(linked) != 1 || linked[0] != "/p" {
		t.Errorf("linked: %q", linked)
	}
}

// TestArrivalsOfLargeMessages: a large message counts when it is announced; until it is there, and if it is refused, the
// stamp is that of an earlier one, with its time.
func TestArrivalsOfLargeMessages(t *testing.T) {
	t.Parallel()
	in := bareIntake(-1, 100)
	l := linkOf(t, in, testlink.HeaderInfo("/t", "/p"))
	frame := binary.LittleEndian.AppendUint32(nil, 2000)
	frame = append(frame, make([]byte, 2000)...)
	binary.LittleEndian.PutUint32(frame[8:], 5)
	arrivals := func() finding.Arrivals {
		all, _ := in.Arrivals(nil)
		return all[0]
	}
	first := time.Now()
	f := l.Large(len(frame))
	testlink.Fill(f, frame)
	f.Commit(first)
	l.Large(len(frame))
	if a := arrivals(); a.Messages != 2 || a.Stamp != 5e9 || !a.Stamped.Equal(first) || !a.Last.After(first) {
		t.Errorf("%+v", a)
	}
}

// stamped reports whether the stamp of a message on a link is read.
func stamped(l *Link) bool {
	frame := append(binary.LittleEndian.AppendUint32(nil, 16), bytes.Repeat([]byte{1}, 16)...)
	l.Frames(frame, 1, time.Now())
	all, _ := l.in.Arrivals(nil)
	return all[len(all)-1].Stamp != 0
}

// TestHeaderWithoutDefinition: messages of a type of ROS have a stamp and are numbered, though the publisher sends no
// definition.
func TestHeaderWithoutDefinition(t *testing.T) {
	t.Parallel()
	in := bareIntake(1<<20, 100)
	info := testlink.HeaderInfo("/t", "/p")
	for name, value := range map[string]string{"type": "std_msgs/Header", "md5sum": "2176decaecbce78abc3b96ef049fabed", "message_definition": ""} {
		for i := range info.Header {
			if info.Header[i].Key == name {
				info.Header[i].Value = value
			}
		}
	}
	if l := linkOf(t, in, info); stamped(l) || l.seq != nil {
		t.Error("the first field of a Header is its number")
	}
	for i := range info.Header {
		switch info.Header[i].Key {
		case "type":
			info.Header[i].Value = "geometry_msgs/TwistStamped"
		case "md5sum":
			info.Header[i].Value = "98d34b0043a2093cf9d9345ab6eef12e"
		}
	}
	l := linkOf(t, in, info)
	if has := stamped(l); !has || l.seq == nil {
		t.Errorf("stamped %t, numbered %t", has, l.seq != nil)
	}
}
