package migration

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// ErrValue is matched by every [ValueError].
var ErrValue = errors.New("value does not fit the wanted definition")

// ValueError is a value that the wanted definition cannot hold.
type ValueError struct {
	Type  string // of the message
	Path  string // as "poses[3].position.x"
	Value string
	Typed string // the type that it does not fit
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("%s: %s is %s, which does not fit %s", e.Type, e.Path, e.Value, e.Typed)
}

// Is matches ErrValue.
func (e *ValueError) Is(target error) bool { return target == ErrValue }

// under adds the name of what the error's value is in. It allocates only once something is wrong.
func (e *ValueError) under(name string) {
	switch {
	case name == "":
	case e.Path == "" || e.Path[0] == '[':
		e.Path = name + e.Path
	default:
		e.Path = name + "." + e.Path
	}
}

// What a message may become, in bytes: definitions of others could make much of little.
const (
	freeBytes    = 4 << 20
	bytesPerByte = 256
	mostBytes    = 1_000_000_000 // roscpp refuses to receive more
)

// mostOf returns how many bytes a message of n bytes may become.
func mostOf(n int) int {
	if n > (mostBytes-freeBytes)/bytesPerByte {
		return max(n, mostBytes)
	}
	return freeBytes + bytesPerByte*n
}

// maxEmptyElements bounds arrays whose elements have no bytes, as rosmsg does.
const maxEmptyElements = 1 << 24

// Converter converts messages by a plan. It is not for concurrent use.
type Converter struct {
	plan *Plan

	in      []byte
	pos     int
	dst     []byte
	limit   int // of dst
	time    rosbag.Time
	ends    []int // see gather
	rounded uint64
	value   *ValueError
}

// Converter returns what converts messages. It panics if the plan refuses something.
func (p *Plan) Converter() *Converter {
	if p.root == nil {
		panic("migration: converter of a plan that refuses something")
	}
	return &Converter{plan: p}
}

// Append appends what a message that was received at t becomes to dst. With an error dst is returned as
// it was. An error matches ErrValue, or rosmsg.ErrCorrupt if the payload does not fit its definition.
func (c *Converter) Append(dst, payload []byte, t rosbag.Time) ([]byte, error) {
	begin := len(dst)
	c.in, c.pos, c.dst, c.time, c.value = payload, 0, dst, t, nil
	c.limit = begin + mostOf(len(payload))
	ok := c.steps(c.plan.root)
	dst = c.dst
	c.in, c.dst = nil, nil
	switch {
	case c.value != nil:
		c.value.Type = c.plan.To.Name()
		return dst[:begin], c.value
	case !ok || c.pos != len(payload):
		if err := c.plan.From.Check(payload); err != nil {
			return dst[:begin], err
		}
		return dst[:begin], &rosmsg.DecodeError{
			Type: c.plan.To.Name(), Offset: c.pos,
			Reason: fmt.Sprintf("its %d bytes would become more than %d, the limit", len(payload),
				c.limit-begin),
		}
	}
	return dst, nil
}

// Rounded returns how many values were rounded so far.
func (c *Converter) Rounded() uint64 { return c.rounded }

// room reports whether n more bytes may be written.
func (c *Converter) room(n int) bool { return n <= c.limit-len(c.dst) }

// steps converts one message. It reports false if the payload does not fit, or a value.
func (c *Converter) steps(s *steps) bool {
	if s.all != nil {
		return c.gather(s)
	}
	for i := range s.list {
		if !c.step(&s.list[i]) {
			return false
		}
	}
	return true
}

// gather converts a message whose fields have another order: first it finds all fields of the input.
func (c *Converter) gather(s *steps) bool {
	base := len(c.ends)
	defer func() { c.ends = c.ends[:base] }()
	pos := c.pos
	for _, l := range s.all {
		c.ends = append(c.ends, pos)
		var ok bool
		if pos, ok = l.end(c.in, pos); !ok {
			return false
		}
	}
	for i := range s.list {
		if k := s.source[i]; k >= 0 {
			c.pos = c.ends[base+k]
		}
		if !c.step(&s.list[i]) {
			return false
		}
	}
	c.pos = pos
	return true
}

func (c *Converter) step(st *step) bool {
	switch st.op {
	case opCopy, opSkip:
		end, ok := st.layout.end(c.in, c.pos)
		if !ok {
			return false
		}
		if st.op == opCopy {
			c.dst = append(c.dst, c.in[c.pos:end]...)
		}
		c.pos = end
		return true
	case opZero:
		if !c.room(st.n) {
			return false
		}
		for n := st.n; n > 0; {
			k := min(n, len(zeros))
			c.dst = append(c.dst, zeros[:k]...)
			n -= k
		}
		return true
	case opWrite:
		if !c.room(len(st.bytes)) {
			return false
		}
		c.dst = append(c.dst, st.bytes...)
		return true
	case opReceived:
		c.dst = le.AppendUint32(c.dst, c.time.Sec)
		c.dst = le.AppendUint32(c.dst, c.time.Nsec)
		return c.room(0)
	case opExpect:
		n, ok := c.count()
		if !ok {
			return false
		}
		if n != int64(st.n) {
			c.value = &ValueError{
				Path: st.name, Value: "an array of " + strconv.FormatInt(n, 10),
				Typed: st.typed,
			}
			return false
		}
		return true
	case opNumbers:
		return c.numbers(st)
	case opElements:
		return c.elements(st)
	case opMessage:
		if !c.steps(st.sub) {
			c.under(st.name)
			return false
		}
	}
	return true
}

var zeros [1024]byte

func (c *Converter) under(name string) {
	if c.value != nil {
		c.value.under(name)
	}
}

// count reads the length of an array.
func (c *Converter) count() (int64, bool) {
	if len(c.in)-c.pos < 4 {
		return 0, false
	}
	n := int64(le.Uint32(c.in[c.pos:]))
	c.pos += 4
	return n, true
}

// length returns the number of elements, whose size in the input is at least least, and writes it if the
// output has it.
func (c *Converter) length(st *step, least int64) (int64, bool) {
	n := int64(st.n)
	if st.counts {
		var ok bool
		if n, ok = c.count(); !ok {
			return 0, false
		}
	}
	if n*least > int64(len(c.in)-c.pos) || least == 0 && n > maxEmptyElements { // below 2^32 * 2^31
		return 0, false
	}
	if st.writes {
		c.dst = le.AppendUint32(c.dst, uint32(n))
	}
	return n, true
}

func (c *Converter) numbers(st *step) bool {
	size := st.number.from.bytes
	n, ok := c.length(st, int64(size))
	if !ok {
		return false
	}
	for i := range n {
		in := c.in[c.pos : c.pos+size]
		var exact bool
		if c.dst, exact, ok = st.number.convert(c.dst, in); !ok {
			path := ""
			if st.counts || st.writes || n != 1 {
				path = "[" + strconv.FormatInt(i, 10) + "]"
			}
			c.value = &ValueError{Path: path, Value: st.number.print(in), Typed: st.number.to.name}
			c.value.under(st.name)
			return false
		}
		if !exact {
			c.rounded++
		}
		c.pos += size
	}
	return true
}

func (c *Converter) elements(st *step) bool {
	n, ok := c.length(st, st.sub.least)
	if !ok {
		return false
	}
	for i := range n {
		if !c.room(0) || !c.steps(st.sub) {
			if c.value != nil {
				c.value.under("[" + strconv.FormatInt(i, 10) + "]")
				c.value.under(st.name)
			}
			return false
		}
	}
	return true
}
