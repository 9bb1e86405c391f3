package look

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/view"
	"github.com/gorosbag/gorosbag/internal/view/eye"
	"github.com/gorosbag/gorosbag/internal/view/kept"
	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/internal/view/picture"
	"github.com/gorosbag/gorosbag/internal/view/plot"
	"github.com/gorosbag/gorosbag/internal/view/scene"
	"github.com/gorosbag/gorosbag/internal/view/tree"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Panels serve what a Watcher has read. The endpoints are those of package view for recordings, as far as
// there are such.
type Panels struct {
	watcher *Watcher
	eyes    *eye.Eye
	large   *kept.Cache // pictures that several pages ask for

	mu    sync.Mutex
	shows map[live.ChannelID]string // what panels show, of the channels that were listed last
}

// patience is how long a page waits for the first message of a topic.
const patience = 2 * time.Second

// largeBytes is how much of pictures is kept for other pages.
const largeBytes = 16 << 20

// NewPanels returns the panels of a Watcher, which has to run.
func NewPanels(w *Watcher) *Panels {
	return &Panels{watcher: w, eyes: eye.New(), large: kept.New(largeBytes)}
}

// Routes registers the endpoints.
func (p *Panels) Routes(s *web.Server) {
	for name, h := range map[string]func(w http.ResponseWriter, r *http.Request) error{
		"state": p.state, "message": p.message, "copy": p.copyMessage, "picture": p.picture, "hints": p.hints,
		"scene": p.scene, "plot": p.plot, "values": p.values,
	} {
		s.Handle("GET /api/v1/look/"+name, func(w http.ResponseWriter, r *http.Request) {
			if err := h(w, r); err != nil && r.Context().Err() == nil {
				if command.KindOf(err) == command.Failed {
					err = command.Refused(command.Invalid, err.Error())
				}
				web.WriteError(w, err)
			}
		})
	}
}

func (p *Panels) seconds(t rosbag.Time) float64 {
	return float64(t.Sub(p.watcher.began)) / float64(time.Second)
}

type topicState struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Shows string `json:"shows,omitempty"`
}

// state answers with the topics that can be looked at.
func (p *Panels) state(w http.ResponseWriter, _ *http.Request) error {
	list := []topicState{}
	p.mu.Lock()
	known := make(map[live.ChannelID]string)
	for _, c := range p.watcher.store.Channels() {
		shows, ok := p.shows[c.ID] // to parse 500 definitions with each request would cost a robot a second
		if !ok {
			if typ, err := msgdef.Parse(c.Type, c.MD5Sum, c.Definition); err == nil {
				shows = view.Shows(typ.Type)
			}
		}
		known[c.ID] = shows
		list = append(list, topicState{Name: c.Topic, Type: c.Type, Shows: shows})
	}
	p.shows = known
	p.mu.Unlock()
	web.WriteJSON(w, http.StatusOK, struct {
		Start  string       `json:"start"`
		Topics []topicState `json:"topics"`
	}{p.watcher.began.String(), list})
	return nil
}

// found is the latest message of a topic.
type found struct {
	*topic
	frame live.Frame
	id    string
}

// latest returns the latest message of the topic that a request names. It waits a while for the first one.
func (p *Panels) latest(ctx context.Context, name string, paths ...string) (found, error) {
	t, ok := p.watcher.want(name, paths...)
	if !ok {
		return found{}, command.Refused(command.NotFound,
			fmt.Sprintf("topic %.200q cannot be looked at: it is not there, or too many are looked at", name))
	}
	select {
	case <-t.arrived:
	case <-ctx.Done():
		return found{}, ctx.Err()
	case <-time.After(patience):
		return found{}, command.Refused(command.NotFound, "no message yet")
	}
	p.watcher.mu.Lock()
	defer p.watcher.mu.Unlock()
	f := *t.latest
	return found{t, f, fmt.Sprintf("%d.%09d:%d", f.Time.Sec, f.Time.Nsec, t.number)}, nil
}

func (p *Panels) message(w http.ResponseWriter, r *http.Request) error {
	f, err := p.latest(r.Context(), r.FormValue("topic"))
	if err != nil {
		return err
	}
	from, _ := strconv.Atoi(r.FormValue("from")) // 0 without
	a := view.Message{ID: f.id, At: p.seconds(f.frame.Time), Time: f.frame.Time.String()}
	a.Fill(f.conn, f.typ, f.err, f.frame.Payload, r.FormValue("path"), from)
	web.WriteJSON(w, http.StatusOK, a)
	return nil
}

func (p *Panels) copyMessage(w http.ResponseWriter, r *http.Request) error {
	f, err := p.latest(r.Context(), r.FormValue("topic"))
	if err == nil {
		err = f.err
	}
	if err != nil {
		return err
	}
	b, err := tree.JSON(f.typ, f.frame.Payload)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b) // whoever has gone does not need it
	return nil
}

// picture answers with the latest picture, or with nothing if the page knows it already.
func (p *Panels) picture(w http.ResponseWriter, r *http.Request) error {
	f, err := p.latest(r.Context(), r.FormValue("topic"))
	if err == nil {
		err = f.err
	}
	if err != nil {
		return err
	}
	if r.FormValue("known") == f.id {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	o, err := view.PictureOptions(r)
	if err != nil {
		return err
	}
	key := fmt.Sprintf("%s %s %+v", f.channel.Topic, f.id, o)
	a, ok := p.large.Get(key)
	if !ok {
		if a, err = p.eyes.Picture(r.Context(), f.typ, f.frame.Payload,
			eye.Place{ID: f.id, At: p.seconds(f.frame.Time)}, o); err != nil {
			return err
		}
		a.Key = key
		p.large.Put(a)
	}
	view.WritePicture(w, a)
	return nil
}

// hints answers with hints about the latest picture: it looks at one with each request, and remembers them.
func (p *Panels) hints(w http.ResponseWriter, r *http.Request) error {
	f, err := p.latest(r.Context(), r.FormValue("topic"))
	if err == nil {
		err = f.err
	}
	if err != nil {
		return err
	}
	if _, err := p.eyes.Small(r.Context(), f.channel.Topic, f.frame.Time, f.typ, f.frame.Payload,
		eye.Place{ID: f.id, At: p.seconds(f.frame.Time)}); err != nil {
		return err
	}
	hints := p.eyes.Hints(f.channel.Topic, f.frame.Time)
	for i := range hints {
		if hints[i].Since != 0 {
			hints[i].Since -= float64(p.watcher.began.Sec) + float64(p.watcher.began.Nsec)/1e9
		}
	}
	if hints == nil {
		hints = []picture.Hint{}
	}
	web.WriteJSON(w, http.StatusOK, struct {
		Hints []picture.Hint `json:"hints"`
	}{hints})
	return nil
}

func (p *Panels) scene(w http.ResponseWriter, r *http.Request) error {
	f, err := p.latest(r.Context(), r.FormValue("topic"))
	if err == nil {
		err = f.err
	}
	if err != nil {
		return err
	}
	answer := struct {
		Scene any     `json:"scene"`
		ID    string  `json:"id"`
		At    float64 `json:"at"`
	}{nil, f.id, p.seconds(f.frame.Time)}
	switch kind := scene.KindOf(f.typ); {
	case kind == "":
		return command.Refused(command.Invalid, f.typ.Name()+" has no scene")
	case kind.Gathers():
		if kind == scene.Tree {
			p.watcher.wantFrames()
		}
		p.watcher.mu.Lock()
		answer.Scene = f.gather.Scene()
		p.watcher.mu.Unlock()
		// pages share what is gathered, and want different lines
		if log, ok := answer.Scene.(*scene.LogScene); ok {
			o, err := view.LogOptions(r)
			if err != nil {
				return err
			}
			log.Only(o)
		}
	default:
		if answer.Scene, err = scene.Of(f.typ, f.frame.Payload); err != nil {
			return err
		}
	}
	web.WriteJSON(w, http.StatusOK, answer)
	return nil
}

// fields returns the topics and paths of the fields of a request, each f=TOPIC|PATH, with the first
// message of each.
func (p *Panels) fields(r *http.Request) (all [][2]string, err error) {
	if err := r.ParseForm(); err != nil {
		return nil, command.Refused(command.Invalid, err.Error())
	}
	for _, text := range r.Form["f"] {
		topic, path, ok := strings.Cut(text, "|")
		if !ok || len(all) == maxFields {
			return nil, command.Refused(command.Invalid,
				"want 1 to 16 fields, as f=/odom|pose.pose.position.x")
		}
		if _, err := p.latest(r.Context(), topic, path); err != nil {
			return nil, err
		}
		all = append(all, [2]string{topic, path})
	}
	return all, nil
}

// plot answers with the columns of fields between from and to, as far as that is kept, as lines of JSON.
func (p *Panels) plot(w http.ResponseWriter, r *http.Request) error {
	fields, err := p.fields(r)
	if err != nil {
		return err
	}
	from, err1 := strconv.ParseFloat(r.FormValue("from"), 64)
	to, err2 := strconv.ParseFloat(r.FormValue("to"), 64)
	columns, err3 := strconv.Atoi(r.FormValue("columns"))
	if err1 != nil || err2 != nil || err3 != nil ||
		!(from < to && to-from < 1e6 && from > -1e9 && to < 1e9) || columns < 1 || columns > plot.MaxColumns {
		return command.Refused(command.Invalid,
			fmt.Sprintf("want from, to and at most %d columns", plot.MaxColumns))
	}
	at := func(s float64) rosbag.Time { return p.watcher.began.Add(time.Duration(s * float64(time.Second))) }
	axis := plot.Axis{From: at(from), To: at(to), Columns: columns}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := json.NewEncoder(w)
	ends := make([]plot.End, len(fields))
	for i, f := range fields {
		part := plot.Part{Series: i}
		ends[i] = p.watcher.draw(f[0], f[1], axis, &part)
		_ = out.Encode(part) // whoever has gone does not need it
	}
	_ = out.Encode(struct { // as above
		At     float64    `json:"at"`
		Done   bool       `json:"done"`
		Series []plot.End `json:"series"`
	}{to, true, ends})
	return nil
}

// draw draws the values that are kept of a field.
func (w *Watcher) draw(name, path string, axis plot.Axis, part *plot.Part) (end plot.End) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.topics[name]
	if t == nil || t.fields[path] == nil {
		return plot.End{Error: "too many fields are looked at"}
	}
	x := t.fields[path]
	switch {
	case x.err != nil:
		end.Error = x.err.Error()
	case x.reads.Bands:
		b := plot.NewBands(axis, 0)
		for _, v := range x.values {
			if v.broken {
				b.Break()
			} else if !v.t.Before(axis.From) {
				b.Add(v.t, v.text)
			}
		}
		part.SetBands(b.List(), w.began)
	default:
		l := plot.NewLine(axis, 0)
		for _, v := range x.values {
			if v.broken {
				l.Break()
			} else {
				l.Add(v.t, v.number)
			}
		}
		part.SetColumns(l.Columns)
		end.Odd = l.Odd
	}
	return end
}

// values answers with the latest values of fields with all their digits.
func (p *Panels) values(w http.ResponseWriter, r *http.Request) error {
	type answer struct {
		At    float64 `json:"at"`
		Text  string  `json:"text"`
		Error string  `json:"error,omitempty"`
	}
	fields, err := p.fields(r)
	if err != nil {
		return err
	}
	list := make([]answer, len(fields))
	for i, f := range fields {
		m, err := p.latest(r.Context(), f[0])
		if err != nil {
			return err
		}
		list[i].At = p.seconds(m.frame.Time)
		if err = m.err; err == nil {
			var reads *plot.Field
			if reads, err = plot.Compile(m.typ, f[1]); err == nil {
				list[i].Text, err = reads.Text(m.frame.Payload)
			}
		}
		if err != nil {
			list[i].Error = err.Error()
		}
	}
	web.WriteJSON(w, http.StatusOK, list)
	return nil
}
