// This file says in which fields two messages differ, in a few words each. It is pure; the
// caller is package diff.

package diff

import (
	"errors"
	"fmt"

	"github.com/gorosbag/gorosbag/internal/bags/diff/report"
	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/ros/msgdiff"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// maxFields is how many fields of a message are listed.
const maxFields = 10

// compareFields says in which fields two messages differ or, if they cannot be decoded, in which
// bytes. It fills in Fields, More and Note of out.
func compareFields(out *report.Difference, messages [2]*rosbag.Message, known *msgdef.Cache) {
	a, b := messages[0].Data(), messages[1].Data()
	var types [2]*rosmsg.Type
	for s, m := range messages {
		typ, err := known.Of(m.Conn)
		if err == nil {
			types[s], err = typ.Type, typ.Check(m.Data())
		}
		if err != nil && !errors.Is(err, rosmsg.ErrTrailing) {
			out.Note = fmt.Sprintf("cannot be decoded in %s: %s", [2]string{"A", "B"}[s], err)
			out.Fields = []report.Change{compareBytes("", a, b)}
			return
		}
	}
	for d, err := range msgdiff.All(types[0].Message(a), types[1].Message(b)) {
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
