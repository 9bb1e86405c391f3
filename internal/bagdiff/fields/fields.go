// Package fields says in which fields two messages differ, in a few words each. It is pure; the
// caller is bagdiff.
package fields

import (
	"errors"
	"fmt"

	"github.com/gorosbag/gorosbag/internal/bagdiff/report"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// maxFields is how many fields of a message are listed.
const maxFields = 10

// Types holds the types of the messages of connections that it was asked for.
type Types struct {
	known map[[2]string]*decoder // by the names of the types and their definitions
}

// decoder is the type of a connection's messages, or why there is none.
type decoder struct {
	typ *rosmsg.Type
	err error
}

func (t *Types) of(conn *rosbag.Connection) *decoder {
	key := [2]string{conn.Header.Type(), conn.Header.MessageDefinition()}
	d := t.known[key]
	if d != nil {
		return d
	}
	d = &decoder{}
	if key[1] == "" && conn.Header.MD5Sum() != rosmsg.EmptyMD5Sum {
		d.err = errors.New("no message definition is recorded")
	} else {
		d.typ, d.err = rosmsg.Parse(key[0], key[1])
	}
	if t.known == nil {
		t.known = make(map[[2]string]*decoder)
	}
	t.known[key] = d
	return d
}

// Compare says in which fields two messages differ or, if they cannot be decoded, in which
// bytes. It fills in Fields, More and Note of out.
func (t *Types) Compare(out *report.Difference, messages [2]*rosbag.Message) {
	var decoders [2]*decoder
	for s, m := range messages {
		decoders[s] = t.of(m.Conn)
		err := decoders[s].err
		if err == nil {
			err = decoders[s].typ.Check(m.Data())
		}
		if err != nil && !errors.Is(err, rosmsg.ErrTrailing) {
			out.Note = fmt.Sprintf("cannot be decoded in %s: %s", [2]string{"A", "B"}[s], err)
			out.Fields = []report.Change{compareBytes("", messages[0].Data(), messages[1].Data())}
			return
		}
	}
	a, b := messages[0].Data(), messages[1].Data()
	for d, err := range rosmsg.Differences(decoders[0].typ.Message(a), decoders[1].typ.Message(b)) {
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
		out.Fields = []report.Change{compareBytes("", a, b)}
	}
}
