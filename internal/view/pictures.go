package view

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/face/web/stream"
	"github.com/gorosbag/gorosbag/internal/view/eye"
	"github.com/gorosbag/gorosbag/internal/view/kept"
	"github.com/gorosbag/gorosbag/internal/view/picture"
	"github.com/gorosbag/gorosbag/internal/view/recorded"
	"github.com/gorosbag/gorosbag/internal/view/request"
	"github.com/gorosbag/gorosbag/internal/view/scene"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// Shows says which panel shows messages of a type: picture, or the kind of a scene; empty if there is none.
func Shows(t *rosmsg.Type) string {
	if picture.For(t) != nil {
		return "picture"
	}
	return string(scene.KindOf(t))
}

// PictureOptions reads how a picture is wanted.
func PictureOptions(r *http.Request) (o picture.Options, err error) {
	for name, to := range map[string]*int{"width": &o.Width, "height": &o.Height} {
		if r.FormValue(name) != "" {
			if *to, err = request.Number(r, name, 4096); err != nil {
				return o, err
			}
		}
	}
	for name, to := range map[string]*float64{"min": &o.Min, "max": &o.Max} {
		if text := r.FormValue(name); text != "" {
			if *to, err = strconv.ParseFloat(text, 64); err != nil {
				return o, command.Refused(command.Invalid, fmt.Sprintf("%s=%.20q: want a number", name, text))
			}
		}
	}
	o.Colors, o.Labels = r.FormValue("colors") != "", r.FormValue("labels") != ""
	return o, nil
}

// picture answers with the picture of a message; with small set, with a small one.
func (v *Viewer) picture(w *stream.Stream, r *http.Request) error {
	s, err := v.set(r)
	if err != nil {
		return err
	}
	topic, err := request.Topic(r, s)
	if err != nil {
		return err
	}
	o, err := PictureOptions(r)
	if err != nil {
		return err
	}
	found, err := request.Find(r, s, topic.Name)
	if err != nil {
		return err
	}
	typ, err := v.types.of(found.Message.Conn)
	if err != nil {
		return err
	}
	place := eye.Place{ID: request.ID(found.Place), At: request.Seconds(s, found.Time)}
	var a kept.Answer
	if r.FormValue("small") != "" {
		a, err = v.small(r, s, topic, found)
	} else {
		a, err = v.eyes.Picture(r.Context(), typ, found.Message.Data(), place, o)
	}
	if err != nil {
		return err
	}
	WritePicture(w, a)
	return nil
}

// WritePicture sends a picture. Its media type is what we made or found it to be, never what the message
// says.
func WritePicture(w http.ResponseWriter, a kept.Answer) {
	w.Header().Set("Content-Type", a.MediaType)
	w.Header().Set("View-Picture", a.About)
	_, _ = w.Write(a.Body) // whoever has gone does not need it
}

// camera names the topic of a request for the judgment of its pictures.
func camera(r *http.Request, topic *recorded.Topic) string {
	return r.FormValue("bag") + " " + topic.Name
}

// small returns the small picture of a message, which is judged, and kept.
func (v *Viewer) small(r *http.Request, s *recorded.Set, topic *recorded.Topic,
	found recorded.Found,
) (kept.Answer, error) {
	typ, err := v.types.of(found.Message.Conn)
	if err != nil {
		return kept.Answer{}, err
	}
	place := eye.Place{ID: request.ID(found.Place), At: request.Seconds(s, found.Time)}
	return v.eyes.Small(r.Context(), camera(r, topic), found.Time, typ, found.Message.Data(), place)
}

// looksBack is how far the hints look back, and judged how many pictures they judge there.
var looksBack = [...]time.Duration{3 * time.Second, 12 * time.Second, 48 * time.Second}

const judged = 8

// exactly is how exactly it is told since when a picture is frozen.
const exactly = 100 * time.Millisecond

// hints answers with hints about the picture of a message: it looks at some before, and at some of all of
// the topic.
func (v *Viewer) hints(w *stream.Stream, r *http.Request) error {
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
	if _, err := v.small(r, s, topic, found); err != nil {
		return err
	}
	judge := func(at rosbag.Time) error {
		if at.Before(topic.First) {
			return nil
		}
		other, err := s.At(r.Context(), topic.Name, at)
		if err == nil {
			_, err = v.small(r, s, topic, other)
		}
		if r.Context().Err() != nil {
			return err
		}
		return nil // what cannot be shown says nothing about the others
	}
	for i := range judged { // a camera is blurred against all of the recording, not against the last seconds
		at := topic.First.Add(topic.Last.Sub(topic.First) / judged * time.Duration(i))
		if err := judge(at); err != nil {
			return err
		}
	}
	var hints []picture.Hint
	step := time.Duration(0)
	for _, back := range looksBack {
		step = back / judged
		start := found.Time.Add(-back)
		for i := range judged {
			if err := judge(start.Add(step * time.Duration(i))); err != nil {
				return err
			}
		}
		hints = v.eyes.Hints(camera(r, topic), found.Time)
		if since, ok := frozenSince(hints); !ok || start.Add(step).Before(since) {
			break
		}
	}
	for ; step > exactly; step /= 2 { // since when exactly
		since, ok := frozenSince(hints)
		if !ok {
			break
		}
		if err := judge(since.Add(-step / 2)); err != nil {
			return err
		}
		hints = v.eyes.Hints(camera(r, topic), found.Time)
	}
	web.WriteJSON(w, http.StatusOK, struct {
		Hints []hintAnswer `json:"hints"`
	}{inSeconds(s, hints)})
	return nil
}

// frozenSince returns since when pictures are all the same, if they are.
func frozenSince(hints []picture.Hint) (rosbag.Time, bool) {
	for _, h := range hints {
		if h.Since != 0 {
			return rosbag.Time{}.Add(time.Duration(h.Since * 1e9)), true
		}
	}
	return rosbag.Time{}, false
}

type hintAnswer struct {
	Word  string   `json:"word"`
	Since *float64 `json:"since,omitempty"`
}

// inSeconds returns hints with times from the start of a set.
func inSeconds(s *recorded.Set, hints []picture.Hint) []hintAnswer {
	list := []hintAnswer{}
	for _, h := range hints {
		a := hintAnswer{Word: h.Word}
		if h.Since != 0 {
			since := h.Since - float64(s.Start.Sec) - float64(s.Start.Nsec)/1e9
			a.Since = &since
		}
		list = append(list, a)
	}
	return list
}

// sceneTime is how long a scene gathers messages; what it has then is shown.
const sceneTime = 5 * time.Second

// treeWindow is how long before the playhead the tree of frames begins.
const treeWindow = 10 * time.Second

// scene answers with the scene of a message, or of the messages between from and to.
func (v *Viewer) scene(w *stream.Stream, r *http.Request) error {
	s, err := v.set(r)
	if err != nil {
		return err
	}
	topic, err := request.Topic(r, s)
	if err != nil {
		return err
	}
	typ, err := v.types.of(topic.Connections[0])
	if err != nil {
		return err
	}
	kind := scene.KindOf(typ)
	answer := struct {
		Scene any      `json:"scene"`
		ID    string   `json:"id,omitempty"`
		At    float64  `json:"at"`
		Until *float64 `json:"until,omitempty"` // it ends here: there was no time for more
	}{}
	switch {
	case kind == "":
		return command.Refused(command.Invalid, typ.Name()+" has no scene")
	case kind.Gathers():
		err = v.gather(r, s, topic, kind, &answer.Scene, &answer.Until)
	default:
		var found recorded.Found
		if found, err = request.Find(r, s, topic.Name); err == nil {
			answer.ID, answer.At = request.ID(found.Place), request.Seconds(s, found.Time)
			if typ, err = v.types.of(found.Message.Conn); err == nil && scene.KindOf(typ) != kind {
				err = command.Refused(command.Invalid, typ.Name()+" has no scene")
			}
			if err == nil {
				answer.Scene, err = scene.Of(typ, found.Message.Data())
			}
		}
	}
	if err != nil {
		return err
	}
	web.WriteJSON(w, http.StatusOK, answer)
	return nil
}

// LogOptions reads which lines of a log a request wants.
func LogOptions(r *http.Request) (o scene.Options, err error) {
	o.Node, o.Text = r.FormValue("node"), r.FormValue("text")
	if r.FormValue("level") != "" {
		o.Level, err = request.Number(r, "level", 255)
	}
	return o, err
}

// gather makes a scene of many messages.
func (v *Viewer) gather(r *http.Request, s *recorded.Set, topic *recorded.Topic, kind scene.Kind, to *any,
	until **float64,
) error {
	at, err := request.Moment(r, s, "at")
	if err != nil {
		return err
	}
	start, end, err := request.Window(r, s)
	if err != nil {
		return err
	}
	o, err := LogOptions(r)
	if err != nil {
		return err
	}
	o.Start = s.Start
	keep := func(c *rosbag.Connection) bool { return c.Topic == topic.Name }
	//exhaustive:ignore
	switch kind {
	case scene.Tree: // of all topics with transforms
		if first := s.Start.Add(time.Second); at.Before(first) {
			at = first // before, there are few frames
		}
		o.At, start, end = at, at.Add(-treeWindow), at
		all := make(map[string]bool)
		for i := range s.Topics {
			typ, err := v.types.of(s.Topics[i].Connections[0])
			all[s.Topics[i].Name] = err == nil && scene.KindOf(typ) == kind
		}
		keep = func(c *rosbag.Connection) bool { return all[c.Topic] }
	case scene.Levels:
		o.At = at
	}
	g := scene.Gather(kind, o)
	add := func(m *rosbag.Message) {
		if typ, err := v.types.of(m.Conn); err == nil && scene.KindOf(typ) == kind {
			h := m.Conn.Header
			// a damaged message has no part in it
			_ = g.Add(scene.Message{Type: typ, Time: m.Time, Publisher: h.CallerID(), Static: h.Latching() ||
				m.Conn.Topic == "/tf_static", Payload: m.Data()})
		}
	}
	if kind == scene.Tree {
		for _, f := range s.Files {
			for _, found := range rosbag.Latched(f.Source, start.Add(-1), keep) {
				if found.Message != nil {
					add(found.Message)
				}
			}
		}
	}
	began := time.Now()
	for m, err := range s.Messages(r.Context(), keep, start, end) {
		if r.Context().Err() != nil {
			return r.Context().Err()
		}
		if err != nil {
			continue // the page lists what is damaged
		}
		if time.Since(began) > sceneTime {
			x := request.Seconds(s, m.Time)
			*until = &x
			break
		}
		add(m)
	}
	*to = g.Scene()
	return nil
}
