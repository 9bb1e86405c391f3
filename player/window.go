package player

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
func (p *plan) connectionsInWindow(ctx context.Context, s rosbag.Indexed) map[*rosbag.Connection]bool {
	present := map[*rosbag.Connection]bool{}
	var partial []int
	for i := range s.NumSpans() {
		span := s.Span(i)
		switch {
		case span.End.Before(p.start) || !p.end.IsZero() && p.end.Before(span.Start):
		case span.Start.Before(p.start) || !p.end.IsZero() && p.end.Before(span.End):
			partial = append(partial, i)
		default:
			for _, n := range span.Counts {
				if n.Count > 0 {
					present[n.Conn] = true
				}
			}
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
func (p *plan) probe(s rosbag.Indexed, i int, wanted, present map[*rosbag.Connection]bool) bool {
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

// inWindow reports whether t lies in the window.
func (p *plan) inWindow(t rosbag.Time) bool {
	return !t.Before(p.start) && (p.end.IsZero() || !p.end.Before(t))
}

// lastStamp returns the stamp of the last message that will be played. It reads
// the indexes of the spans that end latest, until no other can hold a later one.
// It is for display only, so it ignores damage, which play will report.
func (p *plan) lastStamp(ctx context.Context) rosbag.Time {
	var best rosbag.Time
	for _, b := range p.bags {
		order := make([]int, b.source.NumSpans())
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(x, y int) int { return b.source.Span(y).End.Compare(b.source.Span(x).End) })
		for _, i := range order {
			span := b.source.Span(i)
			if ctx.Err() != nil || span.End.Before(p.start) || !best.Before(span.End) {
				break
			}
			if !p.end.IsZero() && (p.end.Before(span.Start) || !best.Before(p.end)) || !b.plays(span) {
				continue
			}
			entries, _ := b.source.Index(i, b.playable)
			for _, e := range entries {
				if p.inWindow(e.Time) && best.Before(e.Time) {
					best = e.Time
				}
			}
		}
	}
	return best
}

// playable reports whether the messages of c will be published.
func (b *bagPlan) playable(c *rosbag.Connection) bool {
	r := b.routes[c]
	return r != nil && r.reason == ""
}

// plays reports whether a span holds a message that may be published.
func (b *bagPlan) plays(span *rosbag.Span) bool {
	return slices.ContainsFunc(span.Counts, func(n rosbag.ConnCount) bool { return n.Count > 0 && b.playable(n.Conn) })
}
