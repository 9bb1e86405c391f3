package bagdiff

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// maxFields is how many fields of a message are listed.
const maxFields = 10

// chosen is a detail that is shown.
type chosen struct {
	*detail
	stream *stream
}

// detail reads the first differences again and decodes them: the first of each stream, then
// the second of each, and so on.
func (c *comparison) detail(r *Report, all []*stream) error {
	var list []chosen
	most := 0
	found := make([][]*detail, len(all))
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
	at := func(s Side) *Place { return &Place{Number: d.numbers[s] + 1, Time: Stamp(d.places[s].time)} }
	if d.kind != KindOnlyB {
		out.A = at(A)
	}
	if d.kind != KindOnlyA {
		out.B = at(B)
	}
	switch d.kind {
	case KindChanged:
		var data [2][]byte
		for s := range data {
			var err error
			if data[s], err = c.read(Side(s), d.places[s]); err != nil {
				out.Note = fmt.Sprintf("cannot be read again from %s: %v", Side(s), err)
				return out
			}
		}
		var decoders [2]*decoder
		for s := range decoders {
			decoders[s] = decoderOf(d.places[s].conn, types)
		}
		compareFields(&out, decoders, data)
	case KindOnlyA, KindOnlyB:
		s := A
		if d.kind == KindOnlyB {
			s = B
		}
		out.Repeats = c.repeats(s, d)
	case KindMoved, KindTime:
	}
	return out
}

var errGone = errors.New("it is not there any more")

// read reads a message again.
func (c *comparison) read(s Side, at place) ([]byte, error) {
	cursor := c.bags[s].Cursor(bagfmt.Query{Start: at.time, End: at.time, Keep: func(conn *bagfmt.Connection) bool { return conn == at.conn }})
	defer cursor.Close()
	for n := uint32(0); ; {
		m, err := cursor.Next()
		switch {
		case c.ctx.Err() != nil:
			return nil, c.ctx.Err()
		case errors.Is(err, io.EOF), err == nil && m.Time != at.time:
			return nil, errGone
		case err != nil:
			continue // damage, which is known; the message may be behind it
		}
		if n == at.nth {
			return m.Data(), nil
		}
		n++
	}
}

// repeats reports whether a message is the same as the one before it.
func (c *comparison) repeats(s Side, d chosen) bool {
	at := d.places[s]
	this, err := c.read(s, at)
	if err != nil {
		return false
	}
	if at.nth > 0 {
		at.nth--
		before, err := c.read(s, at)
		return err == nil && bytes.Equal(this, before)
	}
	if at.time.IsZero() {
		return false
	}
	for _, before := range c.bags[s].Latest(at.time.Add(-1), func(conn *bagfmt.Connection) bool { return conn == at.conn }) {
		return before.Err == nil && bytes.Equal(this, before.Message.Data())
	}
	return false
}

// decoder is the type of a connection's messages, or why there is none.
type decoder struct {
	typ  *rosmsg.Type
	name string
	err  error
}

func decoderOf(conn *bagfmt.Connection, known map[[2]string]*decoder) *decoder {
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
