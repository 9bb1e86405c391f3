package screen

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/internal/face/term/termtext"
	"github.com/gorosbag/gorosbag/internal/face/term/topictable"
	"github.com/gorosbag/gorosbag/player/control"
)

// playRow is a topic with its statistics and rates.
type playRow struct {
	*control.TopicStats
	hz, bytes float64
	spark     string
}

// before sorts topics with losses first, then by bytes: these have to be visible if there is no
// room for all.
func (r *playRow) before(o *playRow) int {
	return cmp.Or(cmp.Compare(o.Dropped, r.Dropped), topictable.Heavier(r.Bytes, o.Bytes),
		strings.Compare(r.Name, o.Name))
}

// playGrid is the table of the topics.
var playGrid = topictable.Table[playRow]{
	Columns: []topictable.Column[playRow]{
		{Head: "Hz", Width: 6, Cell: func(r *playRow) string { return termtext.Rate(r.hz) }},
		{
			Head: "data", Width: 10, Needs: 54,
			Cell: func(r *playRow) string { return termtext.DataRate(r.bytes) },
		},
		{
			Head: "last minute", Width: topictable.SparkWidth + 2, Needs: 76,
			Cell: func(r *playRow) string { return r.spark },
		},
		{
			Head: "messages", Width: 11, Needs: 104,
			Cell: func(r *playRow) string { return strconv.FormatUint(r.Messages, 10) },
		},
		{
			Head: "subs", Width: 6, Needs: 30,
			Cell: func(r *playRow) string { return strconv.Itoa(len(r.Subscribers)) },
		},
		{
			Head: "dropped", Width: 9, Needs: 40,
			Cell:  func(r *playRow) string { return termtext.Count(r.Dropped) },
			Alarm: func(r *playRow) bool { return r.Dropped > 0 },
		},
	},
	Name: func(p termtext.Pen, r *playRow, left int) string { return r.name(p, left) },
	Idle: func(r *playRow) bool { return r.hz == 0 || r.Off },
	Load: func(r *playRow) (hz, bytes float64, lost uint64) { return r.hz, r.bytes, r.Dropped },
	Lost: "dropped",
}

// table returns at most most lines.
func (v *View) table(s *control.Stats, w, most int) []string {
	rows := make([]playRow, len(s.Topics))
	for i := range s.Topics {
		rows[i] = playRow{TopicStats: &s.Topics[i]}
		rows[i].hz, rows[i].bytes = v.track.rates.Of(s.Topics[i].Name)
		rows[i].spark = v.track.sparks.Draw(v.pen(), s.Topics[i].Name)
	}
	slices.SortFunc(rows, func(a, b playRow) int { return a.before(&b) })
	return playGrid.Lines(v.pen(), rows, w, most)
}

// name returns the topic and, as far as there is room, its type, flags and subscribers.
func (r *playRow) name(p termtext.Pen, left int) string {
	notes := ""
	if r.Off {
		notes += " (off)"
	}
	if r.Pauses {
		notes += " (pauses)"
	}
	if r.Latching {
		notes += " (latched)"
	}
	name := topictable.TopicName(p, r.Name, r.Type, max(0, left-termtext.Width(notes)))
	if termtext.Width(name+notes) <= left {
		name += notes
	} else {
		name = topictable.TopicName(p, r.Name, r.Type, left)
	}
	if len(r.Subscribers) == 0 {
		return name
	}
	to := make([]string, len(r.Subscribers))
	for i, l := range r.Subscribers {
		to[i] = l.CallerID
		if l.Dropped > 0 {
			to[i] += " (" + termtext.Count(l.Dropped) + " dropped)"
		}
	}
	const arrow = " -> "
	slices.Sort(to)
	return name + named(left-termtext.Width(name), 3, func(n int) string {
		if n == 0 {
			return ""
		}
		return arrow + some(to, n)
	})
}
