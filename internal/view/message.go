package view

import (
	"context"
	"errors"
	"net/http"

	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/face/web/stream"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/internal/view/plot"
	"github.com/gorosbag/gorosbag/internal/view/recorded"
	"github.com/gorosbag/gorosbag/internal/view/request"
	"github.com/gorosbag/gorosbag/internal/view/tree"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// Message is a message of a topic, for a page.
type Message struct {
	ID     string    `json:"id"`
	At     float64   `json:"at"`
	Time   string    `json:"time"` // seconds with all digits
	Type   string    `json:"type"`
	Caller string    `json:"caller"` // node that published it
	Size   int       `json:"size"`   // bytes
	Tree   tree.Node `json:"tree"`
	Error  string    `json:"error,omitempty"` // why the tree is not whole
}

// message answers with the tree of a message, or with what is at path in it.
func (v *Viewer) message(w *stream.Stream, r *http.Request) error {
	s, err := v.set(r)
	if err != nil {
		return err
	}
	topic, err := request.Topic(r, s)
	if err != nil {
		return err
	}
	from := 0
	if r.FormValue("from") != "" {
		if from, err = request.Number(r, "from", 1<<31-1); err != nil {
			return err
		}
	}
	found, err := request.Find(r, s, topic.Name)
	if err != nil {
		return err
	}
	a := Message{ID: request.ID(found.Place), At: request.Seconds(s, found.Time), Time: found.Time.String()}
	typ, err := v.types.of(found.Message.Conn)
	a.Fill(found.Message.Conn, typ, err, found.Message.Data(), r.FormValue("path"), from)
	web.WriteJSON(w, http.StatusOK, a)
	return nil
}

// Fill sets what a payload of type t says: its tree, or what is at path in it. err is why there is no type.
func (a *Message) Fill(c *rosbag.Connection, t *rosmsg.Type, err error, payload []byte, path string,
	from int,
) {
	a.Type, a.Caller, a.Size = c.Header.Type(), c.Header.CallerID(), len(payload)
	if err == nil {
		a.Tree, err = tree.Make(t, payload, path, from)
	}
	if err != nil {
		a.Error = wording.Explain(err).Error()
	}
}

// copyMessage answers with a message as JSON.
func (v *Viewer) copyMessage(w *stream.Stream, r *http.Request) error {
	s, err := v.set(r)
	if err != nil {
		return err
	}
	topic, err := request.Topic(r, s)
	if err != nil {
		return err
	}
	found, err := request.Find(r, s, topic.Name)
	if err != nil {
		return err
	}
	return writeCopy(w, &v.types, found.Message.Conn, found.Message.Data())
}

func writeCopy(w *stream.Stream, types *types, c *rosbag.Connection, payload []byte) error {
	typ, err := types.of(c)
	if err != nil {
		return err
	}
	b, err := tree.JSON(typ, payload)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b) // whoever has gone does not need it
	return nil
}

// field is a value of a topic that a request asks for.
type field struct {
	topic  *recorded.Topic
	path   string
	byType map[*rosmsg.Type]*plot.Field
	types  *types
	err    error // the first one of a type that has no such value
}

// maxFields is how many fields one plot has.
const maxFields = 16

// fields reads the fields of a request: each f=TOPIC|PATH.
func (v *Viewer) fields(r *http.Request, s *recorded.Set) (all []*field, err error) {
	if err := r.ParseForm(); err != nil {
		return nil, command.Refused(command.Invalid, err.Error())
	}
	for _, text := range r.Form["f"] {
		topic, path, ok := cutField(text)
		row, known := s.Row(topic)
		if !ok || !known {
			return nil, command.Refused(command.NotFound,
				"there is no topic for the field "+wording.Shown(text))
		}
		all = append(all,
			&field{
				topic: &s.Topics[row], path: path, types: &v.types,
				byType: make(map[*rosmsg.Type]*plot.Field),
			})
	}
	if len(all) == 0 || len(all) > maxFields {
		return nil, command.Refused(command.Invalid, "want 1 to 16 fields, as f=/odom|pose.pose.position.x")
	}
	return all, nil
}

// of returns what reads the field of messages of a connection, nil if these have none.
func (f *field) of(c *rosbag.Connection) *plot.Field {
	typ, err := f.types.of(c)
	if err != nil {
		f.fail(err)
		return nil
	}
	reads, known := f.byType[typ]
	if !known {
		if reads, err = plot.Compile(typ, f.path); err != nil {
			f.fail(err)
			reads = nil
		}
		f.byType[typ] = reads
	}
	return reads
}

func (f *field) fail(err error) {
	if f.err == nil && err != nil {
		f.err = err
	}
}

// valueAnswer is the value of a field with all its digits.
type valueAnswer struct {
	At    float64 `json:"at"`
	Time  string  `json:"time"`
	Text  string  `json:"text"`
	Error string  `json:"error,omitempty"`
}

// values answers with the values of fields at a time.
func (v *Viewer) values(w *stream.Stream, r *http.Request) error {
	s, err := v.set(r)
	if err != nil {
		return err
	}
	t, err := request.Moment(r, s, "at")
	if err != nil {
		return err
	}
	fields, err := v.fields(r, s)
	if err != nil {
		return err
	}
	at := make(map[string]recorded.Found)
	answers := make([]valueAnswer, len(fields))
	for i, f := range fields {
		found, known := at[f.topic.Name]
		if !known {
			if found, err = s.At(r.Context(), f.topic.Name, t); err != nil {
				if errors.Is(err, context.Canceled) {
					return err
				}
				answers[i].Error = err.Error()
				continue
			}
			at[f.topic.Name] = found
		}
		a := &answers[i]
		a.At, a.Time = request.Seconds(s, found.Time), found.Time.String()
		if reads := f.of(found.Message.Conn); reads != nil {
			if a.Text, err = reads.Text(found.Message.Data()); err != nil {
				a.Error = err.Error()
			}
		}
		if f.err != nil {
			a.Error = f.err.Error()
		}
	}
	web.WriteJSON(w, http.StatusOK, answers)
	return nil
}
