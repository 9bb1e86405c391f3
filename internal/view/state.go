package view

import (
	"cmp"
	"errors"
	"net/http"
	"path"
	"slices"

	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/face/web/stream"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/internal/view/recorded"
	"github.com/gorosbag/gorosbag/internal/view/request"
	"github.com/gorosbag/gorosbag/internal/view/timeline"
	"github.com/gorosbag/gorosbag/rosbag"
)

// stateAnswer is what a page needs to begin. Times are seconds from the start.
type stateAnswer struct {
	Files    []fileState  `json:"files"`
	Start    string       `json:"start"` // seconds since 1970 with all digits
	Duration float64      `json:"duration"`
	Elapsed  bool         `json:"elapsed"` // Start means nothing
	Messages uint64       `json:"messages"`
	Topics   []topicState `json:"topics"`
	Marks    []markState  `json:"marks"`
	Notes    []note.Note  `json:"notes"`
	Damage   []damage     `json:"damage"`
	CanSave  bool         `json:"canSave"`
	CanCut   bool         `json:"canCut"`
}

type fileState struct {
	Name     string  `json:"name"`
	Size     int64   `json:"size"`
	From     float64 `json:"from"`
	To       float64 `json:"to"`
	Messages uint64  `json:"messages"`
}

type topicState struct {
	Name     string       `json:"name"`
	Type     string       `json:"type"`
	Messages uint64       `json:"messages"`
	Latched  bool         `json:"latched,omitempty"`
	First    float64      `json:"first"`
	Last     float64      `json:"last"`
	Period   float64      `json:"period"` // 0 if unknown
	Bytes    uint64       `json:"bytes"`  // about
	Gaps     [][2]float64 `json:"gaps,omitempty"`
	More     int          `json:"more,omitempty"`  // gaps
	Shows    string       `json:"shows,omitempty"` // picture, or the kind of a scene
}

type markState struct {
	At   float64 `json:"at"`
	Text string  `json:"text"`
}

type damage struct {
	At   *float64 `json:"at,omitempty"` // null if it is about no place
	Text string   `json:"text"`
}

// maxDamage is how many damaged places a page lists.
const maxDamage = 50

// state answers with what a page needs to begin.
func (v *Viewer) state(w *stream.Stream, r *http.Request) error {
	s, err := v.set(r)
	if err != nil {
		return err
	}
	answer := &v.told
	if s == v.all {
		v.once.Do(func() { v.told = v.describe(s) })
	} else {
		one := v.describe(s)
		answer = &one
	}
	web.WriteJSON(w, http.StatusOK, answer)
	return nil
}

func (v *Viewer) describe(s *recorded.Set) stateAnswer {
	a := stateAnswer{
		Start: s.Start.String(), Duration: s.End.Sub(s.Start).Seconds(), Elapsed: s.Elapsed,
		Messages: s.Count,
		Files:    []fileState{}, Topics: []topicState{}, Marks: []markState{}, Notes: []note.Note{},
		Damage:  []damage{},
		CanSave: v.options.Save != nil, CanCut: v.options.Copy != nil,
	}
	for i, f := range s.Files {
		info := f.Source.Info()
		a.Files = append(a.Files,
			fileState{
				path.Base(store.Redact(f.Name)), info.Size, request.Seconds(s, info.Start),
				request.Seconds(s, info.End), info.Messages,
			})
		damaged := func(err error) error {
			a.addDamage(s, i, err)
			return nil
		}
		for _, err := range info.Damage {
			_ = damaged(err) // it returns none
		}
		found, err := note.Read(f.Source, damaged)
		if err != nil {
			_ = damaged(err)
		}
		a.Notes = note.Merge(a.Notes, found.Notes...)
		for _, m := range found.Marks {
			a.Marks = append(a.Marks, markState{request.Seconds(s, m.Time), m.Text})
		}
	}
	slices.SortStableFunc(a.Marks, func(x, y markState) int { return cmp.Compare(x.At, y.At) })
	sizes := s.MessageBytes()
	for i := range s.Topics {
		t := &s.Topics[i]
		panel := ""
		if typ, err := v.types.of(t.Connections[0]); err == nil {
			panel = Shows(typ)
		}
		a.Topics = append(a.Topics, topicState{
			Name: t.Name, Type: t.Type, Messages: t.Messages, Latched: t.Latched,
			First: request.Seconds(s, t.First), Last: request.Seconds(s, t.Last),
			Period: t.Period.Seconds(), Bytes: sizes[i], Gaps: gapsOf(s, t.Gaps), More: t.More, Shows: panel,
		})
	}
	return a
}

func gapsOf(s *recorded.Set, gaps []timeline.Gap) (list [][2]float64) {
	for _, g := range gaps {
		list = append(list, [2]float64{request.Seconds(s, g.From), request.Seconds(s, g.To)})
	}
	return list
}

// addDamage notes where a recording is damaged.
func (a *stateAnswer) addDamage(s *recorded.Set, file int, err error) {
	if len(a.Damage) >= maxDamage {
		return
	}
	d := damage{Text: wording.Explain(err).Error()}
	if len(s.Files) > 1 {
		d.Text = path.Base(store.Redact(s.Files[file].Name)) + ": " + d.Text
	}
	if corrupt := (*rosbag.CorruptError)(nil); errors.As(err, &corrupt) {
		if t, ok := s.SpanAt(file, corrupt.Offset); ok {
			at := request.Seconds(s, t)
			d.At = &at
		}
	}
	a.Damage = append(a.Damage, d)
}

// density answers with how dense the topics are in a stretch of time.
func (v *Viewer) density(w *stream.Stream, r *http.Request) error {
	s, err := v.set(r)
	if err != nil {
		return err
	}
	axis := timeline.Axis{}
	if axis.From, axis.To, err = request.Window(r, s); err != nil {
		return err
	}
	if axis.Bins, err = request.Number(r, "bins", timeline.MaxBins); err != nil {
		return err
	}
	axis.Bins = max(axis.Bins, 1)
	wanted := make([]bool, len(s.Topics))
	rows, err := request.Rows(r.FormValue("rows"), len(s.Topics))
	if err != nil {
		return err
	}
	for _, row := range rows {
		wanted[row] = true
	}
	exact := r.FormValue("exact") != ""
	d, gaps, inView := s.Density(r.Context(), axis, func(row int) bool { return wanted[row] }, exact)
	answer := struct {
		Rows   map[int][]byte       `json:"rows"` // levels in base64
		Gaps   map[int][][2]float64 `json:"gaps"` // of an exact answer
		Chunks int                  `json:"chunks"`
		Exact  bool                 `json:"exact"`
	}{map[int][]byte{}, map[int][][2]float64{}, inView, exact && gaps != nil}
	for _, row := range rows {
		answer.Rows[row] = d.Levels(row)
		if g := gaps[row]; g != nil {
			answer.Gaps[row] = gapsOf(s, g)
		}
	}
	web.WriteJSON(w, http.StatusOK, answer)
	return nil
}
