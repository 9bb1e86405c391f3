package recorder

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// slowDisk takes as many bytes as the test gives it.
type slowDisk struct {
	pipe *pipeline

	mu      sync.Mutex // guards the fields below
	given   sync.Cond  // wakes a write that waits for credit
	credit  int64
	waiting bool // a write waits for credit since the last turn
}

// newSlowDisk returns a pipeline that writes to one.
func newSlowDisk(t testing.TB, o Options) *slowDisk {
	d := new(slowDisk)
	d.given.L = &d.mu
	d.pipe = testPipeline(t, o, func(f disk.Handle) disk.Handle { return slowFile{f, d} })
	return d
}

// slowFile is a file on it.
type slowFile struct {
	disk.Handle
	disk *slowDisk
}

func (f slowFile) WriteAt(b []byte, off int64) (int, error) {
	d := f.disk
	d.mu.Lock()
	for d.credit < int64(len(b)) {
		d.waiting = true
		d.given.Wait()
	}
	d.credit -= int64(len(b))
	d.mu.Unlock()
	return f.Handle.WriteAt(b, off)
}

// turn lets the disk take n bytes and waits until it has. A disk that had nothing to do
// does not make up for it later.
func (d *slowDisk) turn(t *testing.T, n int64) {
	t.Helper()
	d.mu.Lock()
	if !d.waiting {
		d.credit = 0
	}
	d.credit += n
	d.waiting = false
	d.mu.Unlock()
	d.given.Broadcast()
	testlink.WaitFor(t, func() bool { return d.full() || d.pipe.written() })
}

// full reports whether a write waits for credit.
func (d *slowDisk) full() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiting
}

// flow is one publisher of a flow.
type flow struct {
	topic string
	bytes int     // of each message
	rate  float64 // bytes for each byte that the disk takes
	from  int     // the first turn with any
	most  uint32  // messages in all; zero means no limit

	loses  bool    // some of its messages; otherwise none
	shares float64 // with loses: about this part of what the disk takes; zero does not look

	link *intake.Link
	buf  []byte
	due  float64 // messages
	sent uint32
	half uint64 // bytes taken in by the middle of the test
}

// send publishes one message as the link of a socket does.
func (s *flow) send(n uint32) {
	if s.buf == nil {
		s.buf = testlink.Frame(0, 0, s.bytes)
		noise := rand.New(rand.NewPCG(1, 2))
		for i := 12; i < len(s.buf); i++ {
			s.buf[i] = byte(noise.Uint32())
		}
	}
	f := s.buf
	binary.LittleEndian.PutUint32(f[8:], n)
	if len(f) <= 128<<10 {
		s.link.Frames(f, 1, time.Now())
		return
	}
	offer(s.link, f)
}

// offer sends a large message, as far as it is taken.
func offer(l *intake.Link, f []byte) {
	large := l.Large(len(f))
	if large == nil {
		return
	}
	for rest := f; len(rest) > 0; {
		room := large.Room(len(rest))
		if room == nil {
			return
		}
		rest = rest[copy(room, rest):]
	}
	large.Commit(time.Now())
}

// TestOverload plays loads that are too much for the disk, turn by turn.
func TestOverload(t *testing.T) {
	testkit.SkipInRace(t, "one goroutine plays millions of messages, turn by turn")
	t.Parallel()
	const mb, turns, perTurn = 1 << 20, 1500, 64 << 10
	imu := flow{topic: "/imu", bytes: 300, rate: 0.01}
	for _, c := range []struct {
		name        string
		buffer      int64
		compression rosbag.Compression
		flow        []flow
	}{
		{"camera and IMU", 16 * mb, "", []flow{{topic: "/camera", bytes: mb, rate: 5, loses: true}, imu}},
		{"camera of small messages", 16 * mb, "", []flow{{topic: "/camera", bytes: 50_000, rate: 5, loses: true}, imu}},
		{"compressed", 24 * mb, rosbag.CompressionLZ4, []flow{{topic: "/camera", bytes: mb, rate: 5, loses: true}, imu}},
		{"smallest buffer", 1, "", []flow{{topic: "/camera", bytes: 200_000, rate: 5, loses: true}, imu}},
		{"a slower camera", 24 * mb, "", []flow{
			{topic: "/a", bytes: 140_000, rate: 2, loses: true, shares: 0.4},
			{topic: "/b", bytes: 140_000, rate: 6, loses: true, shares: 0.4},
			{topic: "/slow", bytes: 140_000, rate: 0.2, shares: 0.2},
			imu,
		}},
		{"small beside large messages", 16 * mb, "", []flow{
			{topic: "/a", bytes: mb, rate: 4, loses: true, shares: 0.5},
			{topic: "/b", bytes: 20_000, rate: 4, loses: true, shares: 0.5},
			imu,
		}},
		{"equals", 8 * mb, "", []flow{
			{topic: "/a", bytes: 10_000, rate: 1, loses: true, shares: 0.25},
			{topic: "/b", bytes: 10_000, rate: 1, loses: true, shares: 0.25},
			{topic: "/c", bytes: 10_000, rate: 1, loses: true, shares: 0.25},
			{topic: "/d", bytes: 10_000, rate: 1, loses: true, shares: 0.25},
		}},
		{"a topic turns heavy", 16 * mb, "", []flow{
			{topic: "/a", bytes: mb, rate: 5, loses: true},
			{topic: "/b", bytes: mb, rate: 5, from: turns / 2, loses: true},
			imu,
		}},
		{"one large map", 64 * mb, "", []flow{
			{topic: "/camera", bytes: mb, rate: 5, loses: true},
			{topic: "/map", bytes: 8 * mb, rate: 1, from: turns / 2, most: 1},
			imu,
		}},
		{"nearly the whole buffer", 4 * mb, "", []flow{{topic: "/map", bytes: 3_900_000, rate: 0.5}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newSlowDisk(t, Options{BufferBytes: c.buffer, Compression: c.compression, Sync: SyncNone})
			p := d.pipe
			for i := range c.flow {
				c.flow[i].link = open(t, p, c.flow[i].topic, "/p")
			}
			for turn := range turns {
				if turn == turns/2 {
					for i := range c.flow {
						c.flow[i].half = accountOf(p, c.flow[i].link).Bytes
					}
				}
				play(c.flow, turn, perTurn)
				if turn%200 == 0 {
					p.tick(time.Now().Add(time.Minute)) // the open chunk is old
				}
				d.turn(t, perTurn)
			}
			d.turn(t, math.MaxInt64/2)
			if err := p.close(); err != nil {
				t.Fatal(err)
			}
			for _, s := range c.flow {
				checkLoss(t, p, &s, turns/2*perTurn)
			}
		})
	}
}

// play sends what is due in one turn, a message of each flow after the other; who is
// first changes.
func play(flow []flow, turn, perTurn int) {
	for i := range flow {
		if s := &flow[i]; turn >= s.from {
			s.due += s.rate * float64(perTurn) / float64(s.bytes)
		}
	}
	for more := true; more; {
		more = false
		for i := range flow {
			s := &flow[(i+turn)%len(flow)]
			if s.due < 1 || s.most > 0 && s.sent == s.most {
				continue
			}
			more = true
			s.due--
			s.send(s.sent)
			s.sent++
		}
	}
}

// checkLoss compares the account of a topic with what its flow sent. In the second half
// of the test the disk wrote written bytes.
func checkLoss(t *testing.T, p *pipeline, s *flow, written float64) {
	t.Helper()
	topic := accountOf(p, s.link)
	lost := topic.Dropped[control.DropBufferFull.String()]
	if topic.Messages+lost != uint64(s.sent) {
		t.Errorf("%s: %d recorded and %d dropped of %d", s.topic, topic.Messages, lost, s.sent)
	}
	if (lost > 0) != s.loses || topic.Messages == 0 {
		t.Errorf("%s: %d of %d lost", s.topic, lost, s.sent)
	}
	if share := float64(topic.Bytes-s.half) / written; s.shares > 0 && (share < 0.8*s.shares || share > 1.3*s.shares) {
		t.Errorf("%s: has %.2f of the disk, want about %.2f", s.topic, share, s.shares)
	}
}

// FuzzOverload plays any sequence of small, large, latched and cut-off messages, pauses,
// splits, flushes and turns of the disk: what was received is recorded or counted as dropped, no more memory is used
// than was given, and all of it comes back.
func FuzzOverload(f *testing.F) {
	noise := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		script := make([]byte, 2000)
		for i := range script {
			script[i] = byte(noise.Uint32())
		}
		f.Add(byte(noise.Uint32()), script)
	}
	f.Fuzz(func(t *testing.T, setup byte, script []byte) {
		t.Parallel()
		const topics, chunkBytes = 4, 20_000
		o := Options{ChunkBytes: chunkBytes, BufferBytes: int64(setup) * chunkBytes / 8, Sync: SyncNone, Split: true}
		if setup%4 == 0 {
			o.Compression = rosbag.CompressionLZ4
		}
		d := newSlowDisk(t, o)
		p := d.pipe
		var links [topics]*intake.Link
		var sent [topics]uint64
		for i := range links {
			links[i] = open(t, p, "/"+string(rune('a'+i)), "/p")
		}
		if setup%8 < 4 {
			links[0] = latching(t, p, "/latched", "/p")
		}
		for len(script) >= 2 {
			op, l, size := script[0], int(script[0]>>6), int(script[1])
			script = script[2:]
			switch op % 8 {
			case 0, 1, 2:
				links[l].Frames(testlink.Frame(0, 0, 20*size), 1, time.Now())
				sent[l]++
			case 3:
				run := append(testlink.Frame(0, 0, 10*size), testlink.Frame(0, 0, 30*size)...)
				links[l].Frames(run, 2, time.Now())
				sent[l] += 2
			case 4, 5:
				offer(links[l], testlink.Frame(0, 0, 500*size))
				sent[l]++
			case 6:
				cutOff(links[l], 600*size, &sent[l])
			case 7:
				doCommand(t, p, size)
				d.turn(t, int64(300*size))
			}
			u := p.Usage()
			grown := int64(u.Grown) // a chunk is counted as it grew when it is sealed
			if o.Compression == rosbag.CompressionLZ4 {
				grown *= 2
			}
			if over := u.Held - p.o.MemoryBytes(); over > grown {
				t.Fatalf("%d bytes more in use than given", over)
			}
		}
		d.turn(t, math.MaxInt64/2)
		if err := p.close(); err != nil {
			t.Fatal(err)
		}
		for i, l := range links {
			topic := accountOf(p, l)
			got := topic.Messages + topic.Passed
			for _, n := range topic.Dropped {
				got += n
			}
			if got != sent[i] {
				t.Errorf("%s: %d sent, %d recorded, dropped %v", topic.Topic, sent[i], topic.Messages, topic.Dropped)
			}
		}
		u := p.Usage()
		left := u.Held - u.Idle - u.Latched
		if u.Waiting != 0 || u.Waiters != 0 || left < 0 || u.Shared == 0 && left != 0 { // a chunk without messages is not sealed
			t.Errorf("at the end: %+v", u)
		}
	})
}

// doCommand does what somebody may do who looks after a recording.
func doCommand(t *testing.T, p *pipeline, what int) {
	t.Helper()
	var err error
	switch what % 8 {
	case 0:
		err = p.Pause()
	case 1:
		err = p.Resume(time.Now())
	case 2:
		_, err = p.RequestSplit(time.Now())
	default:
		p.tick(time.Now().Add(time.Minute))
	}
	if err != nil {
		t.Error(err)
	}
}

// cutOff begins a large message whose link ends within it. One that is given up before
// counts as sent and lost.
func cutOff(l *intake.Link, size int, sent *uint64) {
	large := l.Large(max(size, 100))
	if large == nil {
		*sent++
		return
	}
	for left := size / 2; left > 0; {
		room := large.Room(left)
		if room == nil {
			*sent++
			return
		}
		left -= len(room)
	}
	large.Abort()
}

// TestRingMakesRoom: what is only kept for a snapshot does not count against messages.
func TestRingMakesRoom(t *testing.T) {
	t.Parallel()
	d := newSlowDisk(t, Options{BufferBytes: 8 << 20, ChunkBytes: 100_000, Snapshot: Snapshot{Mode: control.SnapshotBeside}})
	p := d.pipe
	l := open(t, p, "/t", "/p")
	for range 20 {
		offer(l, testlink.Frame(0, 0, 4_500_000))
		d.turn(t, math.MaxInt64/2)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if topic := accountOf(p, l); topic.Messages != 20 || topic.Dropped != nil {
		t.Errorf("%d of 20 recorded, dropped %v", topic.Messages, topic.Dropped)
	}
}
