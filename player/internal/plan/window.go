package plan

import (
	"context"
	"slices"

	"github.com/gorosbag/gorosbag/rosbag"
)

// maxProbed bounds how many indexes are read to find the connections with messages in the
// window for spans that lie only partly in it. An ordinary bag has two such spans.
const maxProbed = 16

// connectionsInWindow returns the connections that have messages in the window.
// For spans that lie wholly in the window, their counts say so. Of spans that lie
// partly in it, the index is read; if those are many, or damaged, their connections count as
// present.
func (p *Plan) connectionsInWindow(ctx context.Context, s rosbag.Indexed) map[*rosbag.Connection]bool {
	present := map[*rosbag.Connection]bool{}
	var partial []int
	for i := range s.NumSpans() {
		span := s.Span(i)
		switch some, whole := p.overlap(span); {
		case whole:
			for _, n := range span.Counts {
				if n.Count > 0 {
					present[n.Conn] = true
				}
			}
		case some:
			partial = append(partial, i)
		}
	}
	for _, i := range partial {
		if ctx.Err() != nil {
			break
		}
		missing := map[*rosbag.Connection]bool{}
		for _, n := range s.Span(i).Counts {
			if n.Count > 0 && !present[n.Conn] {
				missing[n.Conn] = true
			}
		}
		if len(missing) > 0 && (len(partial) > maxProbed || !p.probe(s, i, missing, present)) {
			for c := range missing {
				present[c] = true
			}
		}
	}
	return present
}

// probe adds those wanted connections to present that have messages in the part
// of span i that lies in the window. It reports false if the index cannot be read.
func (p *Plan) probe(s rosbag.Indexed, i int, wanted, present map[*rosbag.Connection]bool) bool {
	entries, err := s.Index(i, func(c *rosbag.Connection) bool { return wanted[c] })
	if err != nil {
		return false
	}
	for _, e := range entries {
		if p.inWindow(e.Time) {
			present[e.Conn] = true
		}
	}
	return true
}

// overlap reports whether some of a span lies in the window, and whether the whole span does.
func (p *Plan) overlap(s *rosbag.Span) (some, whole bool) {
	some = !s.End.Before(p.Start) && (p.End.IsZero() || !p.End.Before(s.Start))
	return some, some && p.inWindow(s.Start) && p.inWindow(s.End)
}

// inWindow reports whether t lies in the window.
func (p *Plan) inWindow(t rosbag.Time) bool {
	return !t.Before(p.Start) && (p.End.IsZero() || !p.End.Before(t))
}

// lastStamp returns the stamp of the last message that will be played. It reads
// the indexes of the spans that end latest, until no other can hold a later one.
// It is for display only, so it ignores damage, which play will report.
func (p *Plan) lastStamp(ctx context.Context) rosbag.Time {
	var best rosbag.Time
	for _, b := range p.Bags {
		order := make([]int, b.Source.NumSpans())
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order,
			func(x, y int) int { return b.Source.Span(y).End.Compare(b.Source.Span(x).End) })
		for _, i := range order {
			span := b.Source.Span(i)
			if ctx.Err() != nil || span.End.Before(p.Start) || !best.Before(span.End) {
				break
			}
			if !p.End.IsZero() && (p.End.Before(span.Start) || !best.Before(p.End)) || !b.Plays(span) {
				continue
			}
			entries, _ := b.Source.Index(i, b.Playable)
			for _, e := range entries {
				if p.inWindow(e.Time) && best.Before(e.Time) {
					best = e.Time
				}
			}
		}
	}
	return best
}

// Playable reports whether the messages of c will be published.
func (b *Bag) Playable(c *rosbag.Connection) bool {
	r := b.Routes[c]
	return r != nil && r.Reason == ""
}

// Plays reports whether a span holds a message that may be published.
func (b *Bag) Plays(span *rosbag.Span) bool {
	return slices.ContainsFunc(span.Counts,
		func(n rosbag.ConnCount) bool { return n.Count > 0 && b.Playable(n.Conn) })
}
