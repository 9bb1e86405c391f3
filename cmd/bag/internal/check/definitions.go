package check

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// definitions compares the definition of each connection with its checksum.
func (c *checker) definitions(conns []*rosbag.Connection) {
	for _, conn := range conns {
		_, ok := conn.Header.Get(rosbag.KeyMessageDefinition)
		switch {
		case !ok && c.report.Version < "2": // older versions have none
			continue
		case conn.Header.Type() == "*":
			continue
		}
		typ, err := c.types.Of(conn)
		switch {
		case errors.Is(err, msgdef.ErrNoDefinition):
			c.warn(conn.Topic, "connection %d has no message definition", conn.ID)
			continue
		case err != nil && conn.Header.MD5Sum() == "*":
			continue
		case err != nil:
			c.definition(conn, err.Error(), adviceType)
			continue
		case typ.Replaced != "":
			c.warn(conn.Topic, "connection %d: %s", conn.ID, typ.Replaced)
			continue
		case conn.Header.MD5Sum() == "*":
			continue
		}
		if sum := typ.MD5Sum(); sum != conn.Header.MD5Sum() {
			fits, how := c.fits(conn.ID)
			what := fmt.Sprintf("the md5sum of its definition of %s is %s, its header says %.40q%s",
				typ.Name(), sum, conn.Header.MD5Sum(), how)
			if fits {
				c.definition(conn, what, adviceSum)
			} else {
				c.definition(conn, what, adviceType)
			}
		}
	}
}

// definition reports a definition that does not match its md5sum. In old bags that is only a
// warning: md5sums were computed differently.
func (c *checker) definition(conn *rosbag.Connection, what, advice string) {
	if c.report.Version < "2" {
		c.warn(conn.Topic, "connection %d: %s", conn.ID, what)
		return
	}
	c.add(Damage{
		Offset: UnknownOffset, What: fmt.Sprintf("connection %d, %s: %s", conn.ID, conn.Topic, what),
		Advice: advice,
	})
}

// doubtful reports whether a definition does not have the md5sum of its connection. Its messages are
// decoded also without Options.Deep: they show whether the definition may be right.
func (c *checker) doubtful(conn *rosbag.Connection) bool {
	sum := conn.Header.MD5Sum()
	typ, err := c.types.Of(conn)
	return err == nil && sum != "*" && typ.Replaced == "" && typ.MD5Sum() != sum
}

// fits says whether the messages of a connection fit its definition exactly, as far as they were decoded.
func (c *checker) fits(id rosbag.ConnID) (fits bool, how string) {
	for conn, st := range c.counts {
		switch {
		case conn.ID != id || st.deep == nil || st.deep.typ == nil:
		case st.deep.failed > 0:
			return false, fmt.Sprintf("; %d of its %s do not fit that definition", st.deep.failed,
				wording.Plural(st.messages, "message"))
		default:
			return true, fmt.Sprintf("; its %s fit that definition exactly",
				wording.Plural(st.messages, "message"))
		}
	}
	return false, ""
}

const (
	maxListedFailures = 3        // messages of a connection that are reported one by one
	batchMessages     = 256      // decoded by one goroutine at a time
	batchBytes        = 4 << 20  // a batch that keeps this much memory takes no further message
	maxBatchBytes     = 64 << 20 // limits the memory that all batches keep
	chunkBytes        = 1 << 20  // estimated memory that the first message of each chunk keeps
)

// deepState is the result of decoding for one connection.
type deepState struct {
	conn   *rosbag.Connection
	typ    *rosmsg.Type // nil: its messages cannot be decoded
	stamps *rosmsg.HeaderStamps
	failed uint64
	first  []failure
	odd    oddTimes // of stamps
}

// failure is a message that could not be decoded.
type failure struct {
	number uint64 // of the message among those of the bag
	time   rosbag.Time
	before Offset // it is before this offset
	err    error
}

// deep decodes messages on several goroutines.
type deep struct {
	c        *checker
	states   []*deepState
	batch    batch // takes the next message
	number   uint64
	memory   *semaphore.Weighted // maxBatchBytes, less the bytes of the batches that are not decoded yet
	decoding errgroup.Group      // a goroutine for each batch
	mu       sync.Mutex          // guards failed, first and odd of states
}

// batch has the messages that one goroutine decodes in a row.
type batch struct {
	tasks []decodeTask
	bytes int64 // estimated memory that the messages keep
}

// decodeTask is a message to decode.
type decodeTask struct {
	state  *deepState
	number uint64
	time   rosbag.Time
	before Offset
	data   []byte
}

func newDeep(c *checker) *deep {
	d := &deep{c: c, memory: semaphore.NewWeighted(maxBatchBytes)}
	d.decoding.SetLimit(c.o.Workers)
	return d
}

// add adds a message to what is decoded: all with Options.Deep, else those whose definition is doubtful.
// The caller does not reuse the memory of the message.
func (d *deep) add(m *rosbag.Message, st *connState, before Offset) {
	if st.deep == nil {
		st.deep = &deepState{conn: m.Conn}
		if m.Conn.Header.Type() != "*" && (d.c.o.Deep || d.c.doubtful(m.Conn)) {
			if typ, err := d.c.types.Of(m.Conn); err == nil { // definitions reports an error
				st.deep.typ = typ.Type
			}
		}
		if st.deep.typ != nil {
			st.deep.stamps = st.deep.typ.HeaderStamps()
		}
		d.states = append(d.states, st.deep)
	}
	d.number++
	if st.deep.typ == nil {
		return
	}
	b := &d.batch
	if n := len(b.tasks); n == 0 || b.tasks[n-1].before != before {
		b.bytes += chunkBytes
	}
	b.tasks = append(b.tasks, decodeTask{st.deep, d.number, m.Time, before, m.Data()})
	if b.bytes += int64(len(m.Data())); len(b.tasks) == batchMessages || b.bytes >= batchBytes {
		d.send()
	}
}

// stop waits for the goroutines.
func (d *deep) stop() { _ = d.decoding.Wait() } // decoding returns no error

// send decodes the batch on a goroutine of its own. It waits while the batches keep too much memory, or all
// workers are busy. After the end of the check it drops the batch.
func (d *deep) send() {
	b := d.batch
	if len(b.tasks) == 0 {
		return
	}
	d.batch = batch{tasks: make([]decodeTask, 0, len(b.tasks))}
	b.bytes = min(b.bytes, maxBatchBytes)
	if d.memory.Acquire(d.c.ctx, b.bytes) != nil {
		return
	}
	// owner: checker.scan or Source; ends with the batch.
	d.decoding.Go(func() error {
		defer d.memory.Release(b.bytes)
		var offsets []int
		for i := range b.tasks {
			offsets = d.decode(&b.tasks[i], offsets[:0])
		}
		return nil
	})
}

// decode decodes one message. offsets is memory, which it returns.
func (d *deep) decode(s *decodeTask, offsets []int) []int {
	err := s.state.typ.Check(s.data)
	if s.state.stamps != nil && err == nil {
		offsets, _ = s.state.stamps.AppendOffsets(offsets, s.data) // it fits its definition
		for _, at := range offsets {
			d.stamp(s, binary.LittleEndian.Uint32(s.data[at:]), binary.LittleEndian.Uint32(s.data[at+4:]))
		}
	}
	if err != nil {
		d.failed(s, err)
	}
	return offsets
}

// stamp notes a stamp of a message.
func (d *deep) stamp(s *decodeTask, secs, nsecs uint32) {
	if nsecs < nanosecondsOfSecond {
		return // without the lock
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s.state.odd.add(s.number, s.before, secs, nsecs)
}

// failed notes a message that could not be decoded.
func (d *deep) failed(s *decodeTask, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.state.failed++
	f := failure{s.number, s.time, s.before, err}
	// Batches end in any order.
	at, _ := slices.BinarySearchFunc(s.state.first, f,
		func(a, b failure) int { return cmp.Compare(a.number, b.number) })
	list := slices.Insert(s.state.first, at, f)
	s.state.first = list[:min(len(list), maxListedFailures)]
}

// finish decodes what is left, waits, and notes the first failures of each connection.
func (d *deep) finish() {
	d.send()
	d.stop()
	if !d.c.o.Deep {
		return // fits says it in one line
	}
	for _, s := range d.states {
		s.odd.report(d.c, s.conn, "the stamp of its header")
		for n, f := range s.first {
			what := fmt.Sprintf("message of %s at time %s%s: %v", s.conn.Topic, f.time, f.before.asEnd(),
				f.err)
			if more := s.failed - uint64(n) - 1; n == len(s.first)-1 && more > 0 {
				what += fmt.Sprintf("; and %d more of connection %d", more, s.conn.ID)
			}
			advice := adviceMessage
			if errors.Is(f.err, rosmsg.ErrDefinition) {
				advice = adviceType
			}
			d.c.add(Damage{Offset: f.before, What: what, Advice: advice})
		}
	}
}
