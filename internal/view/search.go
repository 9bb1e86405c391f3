package view

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/bags/expr"
	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/face/web/stream"
	"github.com/gorosbag/gorosbag/internal/text/lazyre"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/internal/view/recorded"
	"github.com/gorosbag/gorosbag/internal/view/request"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// foundAnswer is where a search has found something.
type foundAnswer struct {
	Topic string  `json:"topic"`
	ID    string  `json:"id"`
	At    float64 `json:"at"`
}

// searchAnswer is a line of a search: how far it is, or how it has ended.
type searchAnswer struct {
	progressAnswer
	Found *foundAnswer `json:"found,omitempty"`
	Note  string       `json:"note,omitempty"` // what the user should know of an expression
	Error string       `json:"error,omitempty"`
}

// expressionLike is what looks like an expression rather than a text.
var expressionLike = lazyre.New(`\b(m|msg)\??\.\w|\b(topic|type|callerid|t|ns)\s*(==|!=|<|>|in\b|contains\b|startsWith\b|matches\b)`)

// maxQuery is the most bytes of a text to search for.
const maxQuery = 1000

// matcher decides which messages a search wants.
type matcher func(m *rosbag.Message) (bool, error)

// matcher returns what a query means, and what to say at the end.
func (v *Viewer) matcher(query string) (matcher, func() string, error) {
	if query == "" || len(query) > maxQuery {
		return nil, nil,
			command.Refused(command.Invalid,
				fmt.Sprintf("want a text or an expression of at most %d bytes", maxQuery))
	}
	if expressionLike().MatchString(query) {
		p, err := expr.Compile(query)
		if err != nil {
			return nil, nil, oneLine(err)
		}
		failed := ""
		match := func(m *rosbag.Message) (bool, error) {
			keep, err := p.Keep(m.Conn, m)
			if err != nil && failed == "" {
				failed = wording.Shown(m.Conn.Topic) + ": " + oneLine(err).Error()
			}
			return keep && err == nil, nil
		}
		return match, func() string {
			for _, lack := range p.Missing() {
				return lack.String()
			}
			return failed
		}, nil
	}
	lower := bytes.ToLower([]byte(query))
	return func(m *rosbag.Message) (bool, error) {
		if !bytes.Contains(bytes.ToLower(m.Data()), lower) {
			return false, nil
		}
		typ, err := v.types.of(m.Conn)
		if err != nil {
			return false, nil //nolint:nilerr // a message that cannot be shown is not found
		}
		return hasText(typ.Message(m.Data()), lower, 0), nil
	}, func() string { return "" }, nil
}

// oneLine returns an error of an expression without quoting the expression.
func oneLine(err error) error {
	if bad := (*expr.ExpressionError)(nil); errors.As(err, &bad) {
		return command.Refused(command.Invalid, "expression: "+bad.Reason)
	}
	return err
}

// hasText reports whether a string in a value has a text, which is in lower case.
func hasText(v rosmsg.Value, lower []byte, depth int) bool {
	//exhaustive:ignore
	switch v.Kind() {
	case rosmsg.String:
		return bytes.Contains(bytes.ToLower(v.Bytes()), lower)
	case rosmsg.Struct:
		for m, err := range v.Members() {
			if err != nil {
				return false
			}
			if hasText(m.Value, lower, depth+1) {
				return true
			}
		}
	case rosmsg.Array:
		if !v.OfMessages() && !strings.HasPrefix(v.Type(), "string") {
			return false
		}
		for e, err := range v.Elements() {
			if err != nil {
				return false
			}
			if hasText(e, lower, depth+1) {
				return true
			}
		}
	}
	return false
}

// search answers with the next message, or the one before, that has a text or for which an expression is
// true. It writes lines of JSON that say how far it is.
func (v *Viewer) search(w *stream.Stream, r *http.Request) error {
	s, err := v.set(r)
	if err != nil {
		return err
	}
	at, err := request.Moment(r, s, "at")
	if err != nil {
		return err
	}
	match, note, err := v.matcher(r.FormValue("q"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	x := &searching{set: s, match: match, out: w, sent: time.Now()}
	if name := r.FormValue("topic"); name != "" {
		topic, err := request.Topic(r, s)
		if err != nil {
			return err
		}
		x.topic = topic.Name
	}
	x.after = recorded.Place{Time: at, Number: -1}
	if text := r.FormValue("id"); text != "" && x.topic != "" {
		if x.after, err = request.ParseID(text); err != nil {
			return err
		}
	}
	var found *recorded.Found
	if r.FormValue("backwards") != "" {
		found, err = x.backwards(r.Context())
	} else {
		found, err = x.forwards(r.Context())
	}
	if err != nil {
		return err
	}
	answer := searchAnswer{progressAnswer: progressAnswer{Done: true, Damage: x.damage}}
	if found != nil {
		answer.Found = &foundAnswer{
			found.Message.Conn.Topic, request.ID(found.Place),
			request.Seconds(s, found.Time),
		}
	} else {
		answer.Note = note()
	}
	_ = json.NewEncoder(x.out).Encode(answer) // whoever has gone does not need it
	return nil
}

// searching is a search.
type searching struct {
	set *recorded.Set
	// empty: all
	topic string
	// the place before which, or after which it looks; with the number -1 all messages of that time are
	// wanted
	after  recorded.Place
	match  matcher
	out    *stream.Stream
	sent   time.Time
	damage string
}

func (x *searching) keep(c *rosbag.Connection) bool { return x.topic == "" || c.Topic == x.topic }

// each calls do with the messages that match from start to end, until it returns false.
func (x *searching) each(ctx context.Context, start, end rosbag.Time, do func(f recorded.Found) bool) error {
	at, numbers := rosbag.Time{}, make(map[string]int)
	for m, err := range x.set.Messages(ctx, x.keep, start, end) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			x.damage = wording.Explain(err).Error()
			continue
		case m.Time != at:
			at = m.Time
			clear(numbers)
		}
		number := numbers[m.Conn.Topic]
		numbers[m.Conn.Topic]++
		if time.Since(x.sent) > sendInterval {
			x.sent = time.Now()
			// Flush has the error
			_ = json.NewEncoder(x.out).Encode(progressAnswer{At: request.Seconds(x.set, m.Time)})
			if x.out.Flush() != nil {
				return errGone
			}
		}
		ok, err := x.match(m)
		if err != nil {
			return err
		}
		kept := *m
		if ok && !do(recorded.Found{Place: recorded.Place{Time: m.Time, Number: number}, Message: &kept}) {
			return nil
		}
	}
	return ctx.Err()
}

func (x *searching) forwards(ctx context.Context) (found *recorded.Found, err error) {
	err = x.each(ctx, x.after.Time, rosbag.Time{}, func(f recorded.Found) bool {
		if f.Time == x.after.Time && (x.topic == "" || f.Number <= x.after.Number) {
			return true
		}
		found = &f
		return false
	})
	return found, err
}

// backwards looks in ever longer stretches of time, each from its start, for the last match.
func (x *searching) backwards(ctx context.Context) (found *recorded.Found, err error) {
	end, more := x.set.LatestUntil(x.after.Time) // years without messages cost nothing: clocks of robots jump
	for length := time.Second; more && found == nil; length = min(2*length, time.Minute) {
		start := end.Add(-length)
		err := x.each(ctx, start, end, func(f recorded.Found) bool {
			if f.Time != x.after.Time || x.topic != "" && f.Number < x.after.Number {
				found = &f
			}
			return true
		})
		if err != nil {
			return nil, err
		}
		if start.IsZero() {
			break
		}
		end, more = x.set.LatestUntil(start.Add(-1))
	}
	return found, nil
}
