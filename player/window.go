package player

import (
	"context"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// Span returns the times of the earliest and of the latest message of the bags, if there
// is any.
func Span(bags []*Bag) (first, last bagfmt.Time, ok bool) {
	for _, b := range bags {
		if b.reader.Messages() == 0 {
			continue
		}
		if !ok || b.reader.Start().Before(first) {
			first = b.reader.Start()
		}
		if last.Before(b.reader.End()) {
			last = b.reader.End()
		}
		ok = true
	}
	return first, last, ok
}

// maxProbed bounds how many indexes are read to find the connections with messages in the
// window for chunks that lie only partly in it. An ordinary bag has two such chunks.
const maxProbed = 16

// connectionsInWindow returns the connections that have messages in the window.
// For chunks that lie wholly in the window, the chunk infos say so. Of chunks that lie
// partly in it, the index is read; if those are many, or damaged, their connections count as
// present.
func (p *plan) connectionsInWindow(ctx context.Context, r *bagfmt.Reader) map[*bagfmt.Connection]bool {
	present := map[*bagfmt.Connection]bool{}
	var partial []int
	for i, chunk := range r.Chunks() {
		switch {
		case chunk.End.Before(p.start) || !p.end.IsZero() && p.end.Before(chunk.Start):
		case chunk.Start.Before(p.start) || !p.end.IsZero() && p.end.Before(chunk.End):
			partial = append(partial, i)
		default:
			for _, n := range chunk.Counts {
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
		missing := map[*bagfmt.Connection]bool{}
		for _, n := range r.Chunks()[i].Counts {
			if n.Count > 0 && !present[n.Conn] {
				missing[n.Conn] = true
			}
		}
		if len(missing) > 0 && (len(partial) > maxProbed || !p.probe(r, i, missing, present)) {
			for c := range missing {
				present[c] = true
			}
		}
	}
	return present
}

// probe adds those wanted connections to present that have messages in the part
// of chunk i that lies in the window. It reports false if the index cannot be read.
func (p *plan) probe(r *bagfmt.Reader, i int, wanted, present map[*bagfmt.Connection]bool) bool {
	entries, err := r.Index(i, func(c *bagfmt.Connection) bool { return wanted[c] })
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
func (p *plan) inWindow(t bagfmt.Time) bool {
	return !t.Before(p.start) && (p.end.IsZero() || !p.end.Before(t))
}

// lastStamp returns the stamp of the last message that will be played. It reads
// the indexes of the chunks that end latest, until no other can hold a later one.
// It is for display only, so it ignores damage, which play will report.
func (p *plan) lastStamp(ctx context.Context) bagfmt.Time {
	var best bagfmt.Time
	for _, b := range p.bags {
		chunks := b.reader.Chunks()
		order := make([]int, len(chunks))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(x, y int) int { return chunks[y].End.Compare(chunks[x].End) })
		for _, i := range order {
			chunk := &chunks[i]
			if ctx.Err() != nil || chunk.End.Before(p.start) || !best.Before(chunk.End) {
				break
			}
			if !p.end.IsZero() && (p.end.Before(chunk.Start) || !best.Before(p.end)) || !b.plays(chunk) {
				continue
			}
			entries, _ := b.reader.Index(i, b.playable)
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
func (b *bagPlan) playable(c *bagfmt.Connection) bool {
	r := b.routes[c]
	return r != nil && r.reason == ""
}

// plays reports whether the chunk holds a message that may be published.
func (b *bagPlan) plays(chunk *bagfmt.ChunkInfo) bool {
	return slices.ContainsFunc(chunk.Counts, func(n bagfmt.ConnCount) bool { return n.Count > 0 && b.playable(n.Conn) })
}
