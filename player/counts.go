package player

import (
	"context"

	"github.com/gorosbag/gorosbag/rosbag"
)

// windowCounts counts the messages in the window.
type windowCounts struct {
	first   rosbag.Time
	byTopic map[*topic]*topicCount
}

type topicCount struct {
	recorded, callers nameList
	messages          uint64
}

// nameList lists each name once, in the order in which they come.
type nameList struct {
	list  []string
	known map[string]bool
}

// add adds a name unless it is empty or known.
func (l *nameList) add(name string) {
	if name == "" || l.known[name] {
		return
	}
	if l.known == nil {
		l.known = map[string]bool{}
	}
	l.list, l.known[name] = append(l.list, name), true
}

// countMessages counts by the spans and, of those that lie only partly in the window, by
// their index. It ignores damage, which play will report.
func (p *plan) countMessages(ctx context.Context) (windowCounts, error) {
	c := windowCounts{byTopic: map[*topic]*topicCount{}}
	begun := false
	for _, b := range p.bags {
		perConn := map[*rosbag.Connection]uint64{}
		for i := range b.source.NumSpans() {
			span := b.source.Span(i)
			if ctx.Err() != nil {
				return c, ctx.Err()
			}
			if span.End.Before(p.start) || !p.end.IsZero() && p.end.Before(span.Start) || !b.plays(span) {
				continue
			}
			whole := !span.Start.Before(p.start) && (p.end.IsZero() || !p.end.Before(span.End))
			if whole && begun && !span.Start.Before(c.first) {
				for _, n := range span.Counts {
					perConn[n.Conn] += uint64(n.Count)
				}
				continue
			}
			entries, _ := b.source.Index(i, b.playable)
			for _, e := range entries {
				if !p.inWindow(e.Time) {
					continue
				}
				perConn[e.Conn]++
				if !begun || e.Time.Before(c.first) {
					c.first, begun = e.Time, true
				}
			}
		}
		for _, conn := range b.source.Connections() { // in a fixed order
			if b.playable(conn) {
				c.add(b.routes[conn], perConn[conn])
			}
		}
	}
	return c, nil
}

func (c *windowCounts) add(r *route, messages uint64) {
	n := c.byTopic[r.topic]
	if n == nil {
		n = new(topicCount)
		c.byTopic[r.topic] = n
	}
	n.messages += messages
	n.recorded.add(r.conn.Topic)
	n.callers.add(r.conn.Header.CallerID())
}
