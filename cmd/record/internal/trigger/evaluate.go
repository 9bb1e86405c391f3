package trigger

import (
	"errors"
	"slices"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/bags/expr"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// evaluator evaluates the expressions, one message after the other.
type evaluator struct {
	log  *zap.Logger
	fire func(action)
}

// item evaluates the expressions for one item of the queue; frame is empty for a link that has
// opened.
func (e *evaluator) item(it *item, frame []byte) {
	l := it.link
	if !l.checked {
		l.checked = true
		for _, r := range l.rules {
			e.check(r.rule, l.conn)
		}
	}
	if len(frame) == 0 {
		return
	}
	l.message.Time, l.message.Frame = rosbag.TimeOf(it.bagTime), frame
	for _, r := range l.rules {
		e.evaluate(r, l, it)
	}
	l.message.Frame = nil
}

// evaluate evaluates one expression. A message for which the evaluation fails changes nothing.
func (e *evaluator) evaluate(r *linkRule, l *link, it *item) {
	holds, err := r.program.Keep(l.conn, &l.message)
	r.messages.Add(1)
	if err != nil {
		r.failures.Add(1)
		if kind := kindOf(err); r.fields.first(kind) {
			e.warn("a trigger could not be evaluated: further errors of this kind are only counted", r.rule,
				l.conn, zap.Error(err))
		}
		return
	}
	if !holds {
		e.missing(r.rule, l.conn)
	}
	if !r.edge.turned(holds) {
		return
	}
	if !r.pause.over(it.received) {
		// the user may miss a bag, or find one that is too long
		if r.suppressed.Add(1) == 1 && (r.kind == Start || r.kind == Stop) {
			e.warn("a trigger did not start or stop the recording: it has fired within --trigger-pause; further times are only counted", r.rule, l.conn)
		}
		return
	}
	r.fired.Add(1)
	e.fire(action{r.rule, l.conn.Topic, it.received})
}

// check looks up the fields of an expression in the message type of a linked publisher. A field is
// reported as missing once the types of all topics of the expression are known and none has the
// field.
func (e *evaluator) check(r *rule, conn *rosbag.Connection) {
	lacking, err := r.program.Lacking(conn)
	if err != nil {
		return // the first message shows whether the error matters
	}
	for _, replaced := range r.program.Replaced() {
		if r.fields.first(replaced) {
			e.log.Info("a definition is not as it should be: triggers use another one",
				zap.String("topic", conn.Topic), zap.String("reason", replaced))
		}
	}
	for _, lack := range r.fields.add(conn.Topic, lacking, len(r.topics)) {
		e.lacks(r, conn, lack.Field, lack.Reason)
	}
}

// missing reports fields that an evaluation needed and that no message type has.
func (e *evaluator) missing(r *rule, conn *rosbag.Connection) {
	for _, lack := range r.program.Missing() {
		e.lacks(r, conn, lack.Field, lack.Reason)
	}
}

func (e *evaluator) lacks(r *rule, conn *rosbag.Connection, field, reason string) {
	if r.fields.first(field) {
		e.warn("a trigger names a field that the messages do not have", r, conn, zap.String("field", field),
			zap.String("reason", reason))
	}
}

func (e *evaluator) warn(text string, r *rule, conn *rosbag.Connection, fields ...zap.Field) {
	e.log.Warn(text, append([]zap.Field{
		zap.String("option", "--"+r.kind.String()), zap.String("topic", conn.Topic),
		zap.String("type", conn.Header.Type()), loglimit.Each(),
	}, fields...)...)
}

// fieldCheck records which fields are missing, and which problems were reported. The zero value has
// no records.
type fieldCheck struct {
	lacking  map[string][]string // fields, by topic
	reported map[string]bool     // fields and kinds of errors
}

// first reports whether a field or a kind of error was not reported yet, and records it as
// reported.
func (f *fieldCheck) first(what string) bool {
	if f.reported[what] {
		return false
	}
	if f.reported == nil {
		f.reported = map[string]bool{}
	}
	f.reported[what] = true
	return true
}

// add records the fields that the messages of a topic lack. If the fields of all topics are known,
// add returns the fields that no topic has.
func (f *fieldCheck) add(topic string, lacking []expr.Lack, topics int) (nowhere []expr.Lack) {
	if f.lacking == nil {
		f.lacking = map[string][]string{}
	}
	fields := make([]string, 0, len(lacking))
	for _, lack := range lacking {
		fields = append(fields, lack.Field)
	}
	f.lacking[topic] = fields
	if len(f.lacking) < topics {
		return nil
	}
	for _, lack := range lacking {
		everywhere := true
		for _, others := range f.lacking {
			everywhere = everywhere && slices.Contains(others, lack.Field)
		}
		if everywhere {
			nowhere = append(nowhere, lack)
		}
	}
	return nowhere
}

// kindOf returns one text for all errors of the same kind.
func kindOf(err error) string {
	for _, kind := range []error{
		expr.ErrBudget, msgdef.ErrNoDefinition, rosmsg.ErrDefinition,
		rosmsg.ErrLimit, rosmsg.ErrCorrupt, expr.ErrExpression,
	} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return "other"
}
