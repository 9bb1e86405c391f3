package screen

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

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
	return cmp.Or(cmp.Compare(o.Dropped, r.Dropped), heavier(r.Bytes, o.Bytes), strings.Compare(r.Name, o.Name))
}

// playGrid is the table of the topics.
var playGrid = grid[playRow]{
	columns: []column[playRow]{
		{head: "Hz", width: 6, cell: func(r *playRow) string { return rate(r.hz) }},
		{head: "data", width: 10, needs: 54, cell: func(r *playRow) string { return dataRate(r.bytes) }},
		{head: "last minute", width: sparkWidth + 2, needs: 76, cell: func(r *playRow) string { return r.spark }},
		{head: "messages", width: 11, needs: 104, cell: func(r *playRow) string { return strconv.FormatUint(r.Messages, 10) }},
		{head: "subs", width: 6, needs: 30, cell: func(r *playRow) string { return strconv.Itoa(len(r.Subscribers)) }},
		{head: "dropped", width: 9, needs: 40, cell: func(r *playRow) string { return count(r.Dropped) }, alarm: func(r *playRow) bool { return r.Dropped > 0 }},
	},
	name: func(p pen, r *playRow, left int) string { return r.name(p, left) },
	idle: func(r *playRow) bool { return r.hz == 0 || r.Off },
	more: morePlayed,
}

// table returns at most most lines.
func (v *PlayView) table(s *control.Stats, w, most int) []string {
	rows := make([]playRow, len(s.Topics))
	for i := range s.Topics {
		rows[i] = playRow{TopicStats: &s.Topics[i]}
		rows[i].hz, rows[i].bytes = v.track.rates.of(s.Topics[i].Name)
		rows[i].spark = v.track.sparks.draw(v.pen(), s.Topics[i].Name)
	}
	slices.SortFunc(rows, func(a, b playRow) int { return a.before(&b) })
	return playGrid.lines(v.pen(), rows, w, most)
}

// name returns the topic and, as far as there is room, its type, flags and subscribers.
func (r *playRow) name(p pen, left int) string {
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
	name := topicName(p, r.Name, r.Type, max(0, left-width(notes)))
	if width(name+notes) <= left {
		name += notes
	} else {
		name = topicName(p, r.Name, r.Type, left)
	}
	if len(r.Subscribers) == 0 {
		return name
	}
	to := make([]string, len(r.Subscribers))
	for i, l := range r.Subscribers {
		to[i] = l.CallerID
		if l.Dropped > 0 {
			to[i] += " (" + count(l.Dropped) + " dropped)"
		}
	}
	const arrow = " -> "
	slices.Sort(to)
	return name + named(left-width(name), 3, func(n int) string {
		if n == 0 {
			return ""
		}
		return arrow + some(to, n)
	})
}

// morePlayed summarizes the rows without room.
func morePlayed(rest []playRow) []part {
	var hz, bytes float64
	var dropped uint64
	for i := range rest {
		hz, bytes, dropped = hz+rest[i].hz, bytes+rest[i].bytes, dropped+rest[i].Dropped
	}
	return others(len(rest), hz, bytes, dropped, "dropped")
}
