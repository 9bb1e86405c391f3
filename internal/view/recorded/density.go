package recorded

import (
	"context"
	"slices"

	"github.com/gorosbag/gorosbag/internal/view/timeline"
	"github.com/gorosbag/gorosbag/rosbag"
)

// MaxExact is the most chunks in view whose index is read for exact times.
const MaxExact = 200

// Density returns how dense the topics are that keep wants, by their numbers, on an axis: from the counts
// of chunks or, if exact is set and at most MaxExact chunks with MaxExactMessages are in view, from the
// times of messages, with the gaps between them. inView counts the chunks. An index that cannot be read
// counts as the chunk infos say.
func (s *Set) Density(ctx context.Context, axis timeline.Axis, keep func(row int) bool,
	exact bool,
) (d *timeline.Density, gaps map[int][]timeline.Gap, inView int) {
	d = timeline.NewDensity(axis, len(s.Topics))
	var view []place
	messages := uint64(0)
	for p := range s.spans {
		if !axis.Meets(p.Start, p.End) ||
			!slices.ContainsFunc(p.Counts, func(c rosbag.ConnCount) bool { return keep(s.rows[c.Conn]) }) {
			continue
		}
		if inView++; inView <= MaxExact {
			view = append(view, p)
			messages += p.messages()
		}
		if !exact {
			s.spread(d, p, keep)
		}
	}
	if !exact {
		return d, nil, inView
	}
	if inView > MaxExact || messages > MaxExactMessages {
		d, _, _ = s.Density(ctx, axis, keep, false)
		return d, nil, inView
	}
	slices.SortStableFunc(view, func(a, b place) int { return a.Start.Compare(b.Start) })
	s.prefetch(view)
	silences, first := make(map[int]*timeline.Silence), make(map[int]rosbag.Time)
	for _, p := range view {
		if ctx.Err() != nil {
			break
		}
		entries, err := s.Files[p.file].Source.Index(p.number,
			func(c *rosbag.Connection) bool { return keep(s.rows[c]) })
		if err != nil && len(entries) == 0 {
			s.spread(d, p, keep)
			continue
		}
		for _, e := range entries {
			row := s.rows[e.Conn]
			d.Add(row, e.Time)
			if silences[row] == nil {
				silences[row], first[row] = timeline.NewSilence(s.Topics[row].Period), e.Time
			}
			silences[row].See(e.Time, e.Time)
		}
	}
	gaps = make(map[int][]timeline.Gap)
	for row := range s.Topics {
		if silence := silences[row]; silence != nil {
			gaps[row] = silence.Around(s.Topics[row].Gaps, first[row])
		} else if keep(row) {
			gaps[row] = s.Topics[row].Gaps
		}
	}
	return d, gaps, inView
}

func (s *Set) spread(d *timeline.Density, p place, keep func(row int) bool) {
	for _, c := range p.Counts {
		if row := s.rows[c.Conn]; keep(row) {
			d.Spread(row, p.Start, p.End, c.Count)
		}
	}
}

// prefetch announces indexes of recordings in a store.
func (s *Set) prefetch(view []place) {
	for _, p := range view {
		if b := s.Files[p.file].Bag(); b != nil {
			b.PrefetchIndex(p.number)
		}
	}
}
