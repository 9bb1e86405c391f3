package bagdiff

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// maxFields is how many fields of a message are listed.
const maxFields = 10

// chosen is a detail that is shown.
type chosen struct {
	detail
	stream *stream
}

// detail reads the first differences again and decodes them: the first of each stream, then
// the second of each, and so on.
func (c *comparison) detail(r *Report, all []*stream) error {
	var list []chosen
	most := 0
	found := make([][]detail, len(all))
	for i, st := range all {
		found[i] = st.tally.details
		if off, counts := c.timeOff(st, &r.Times); counts && off > 0 && c.o.Spacing == nil {
			found[i] = slices.Concat(found[i], st.tally.timed)
		}
		most = max(most, len(found[i]))
	}
	for round := range most {
		for i, st := range all {
			if round < len(found[i]) && len(list) < c.o.Details {
				list = append(list, chosen{found[i][round], st})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b chosen) int {
		return cmp.Or(cmp.Compare(a.stream.topic.name, b.stream.topic.name), cmp.Compare(a.stream.publisher, b.stream.publisher), cmp.Compare(a.number(), b.number()))
	})
	types := make(map[[2]string]*decoder)
	for _, d := range list {
		if c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		r.Differences = append(r.Differences, c.describe(d, types))
	}
	for _, t := range r.Topics {
		r.More += t.Changed + t.Moved + t.OnlyA + t.OnlyB + t.OtherTimes
	}
	r.More -= min(r.More, uint64(len(list)))
	return nil
}

// number sorts differences of a stream.
func (d chosen) number() uint64 {
	if d.kind == KindOnlyB {
		return d.numbers[B]
	}
	return d.numbers[A]
}

// describe reads what a difference is about.
func (c *comparison) describe(d chosen, types map[[2]string]*decoder) Difference {
	out := Difference{Topic: d.stream.topic.name, Publisher: d.stream.publisher, Kind: d.kind}
	at := func(s Side) *Place { return &Place{Number: d.numbers[s] + 1, Time: Stamp(d.items[s].time)} }
	if d.kind != KindOnlyB {
		out.A = at(A)
	}
	if d.kind != KindOnlyA {
		out.B = at(B)
	}
	switch d.kind {
	case KindChanged:
		var data [2][]byte
		var decoders [2]*decoder
		for s := range data {
			m, err := c.read(Side(s), d)
			if err != nil {
				out.Note = fmt.Sprintf("cannot be read again from %s: %v", Side(s), err)
				return out
			}
			data[s], decoders[s] = m.Data(), decoderOf(m.Conn, types)
		}
		compareFields(&out, decoders, data)
	case KindOnlyA, KindOnlyB:
		out.Repeats = d.repeats
	case KindMoved, KindTime:
	}
	return out
}

var errGone = errors.New("it is not there any more")

// read reads a message again: the one of its stream, its time and its payload.
func (c *comparison) read(s Side, d chosen) (*rosbag.Message, error) {
	at := d.items[s].time
	q := rosbag.Query{Start: at, End: at, Keep: func(conn *rosbag.Connection) bool { return slices.Contains(d.stream.conns[s], conn) }}
	cursor := c.bags[s].Cursor(q)
	defer cursor.Close()
	for {
		m, err := cursor.Next()
		switch {
		case c.ctx.Err() != nil:
			return nil, c.ctx.Err()
		case errors.Is(err, io.EOF), err == nil && m.Time != at:
			return nil, errGone
		case err != nil: // damage, which is known; the message may be behind it
		case digestOf(c.seed, m.Data()) == d.items[s].sum:
			return m, nil
		}
	}
}

// decoder is the type of a connection's messages, or why there is none.
type decoder struct {
	typ  *rosmsg.Type
	name string
	err  error
}

func decoderOf(conn *rosbag.Connection, known map[[2]string]*decoder) *decoder {
	key := [2]string{conn.Header.Type(), conn.Header.MessageDefinition()}
	d := known[key]
	if d != nil {
		return d
	}
	d = &decoder{name: key[0]}
	if key[1] == "" && conn.Header.MD5Sum() != rosmsg.EmptyMD5Sum {
		d.err = errors.New("no message definition is recorded")
	} else {
		d.typ, d.err = rosmsg.Parse(key[0], key[1])
	}
	known[key] = d
	return d
}

// compareFields says in which fields two messages differ, or if they cannot be decoded in
// which bytes.
func compareFields(out *Difference, types [2]*decoder, data [2][]byte) {
	for s, d := range types {
		err := d.err
		if err == nil {
			err = d.typ.Check(data[s])
		}
		if err != nil && !errors.Is(err, rosmsg.ErrTrailing) {
			out.Note = fmt.Sprintf("cannot be decoded in %s: %s", Side(s), err)
			out.Fields = []Change{compareBytes("", data[A], data[B])}
			return
		}
	}
	for d, err := range rosmsg.Differences(types[A].typ.Message(data[A]), types[B].typ.Message(data[B])) {
		if err != nil {
			out.Note = err.Error()
			break
		}
		if len(out.Fields) == maxFields {
			out.More++
			continue
		}
		out.Fields = append(out.Fields, compareValues(d))
	}
	if len(out.Fields) == 0 {
		out.Note = "the fields are the same; what follows them is not"
		out.Fields = []Change{compareBytes("", data[A], data[B])}
	}
}
