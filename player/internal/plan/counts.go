package plan

import (
	"context"

	"github.com/gorosbag/gorosbag/rosbag"
)

// Counts counts the messages in the window.
type Counts struct {
	First   rosbag.Time
	ByTopic map[*Topic]*topicCount
}

type topicCount struct {
	Recorded, Callers nameList
	Messages          uint64
}

// nameList lists each name once, in the order in which they come.
type nameList struct {
	List  []string
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
	l.List, l.known[name] = append(l.List, name), true
}

// Count counts by the spans and, of those that lie only partly in the window, by
// their index. It ignores damage, which play will report.
func (p *Plan) Count(ctx context.Context) (Counts, error) {
	c := Counts{ByTopic: map[*Topic]*topicCount{}}
	begun := false
	for _, b := range p.Bags {
		perConn := map[*rosbag.Connection]uint64{}
		for i := range b.Source.NumSpans() {
			span := b.Source.Span(i)
			if ctx.Err() != nil {
				return c, ctx.Err()
			}
			some, whole := p.overlap(span)
			if !some || !b.Plays(span) {
				continue
			}
			if whole && begun && !span.Start.Before(c.First) {
				for _, n := range span.Counts {
					perConn[n.Conn] += uint64(n.Count)
				}
				continue
			}
			entries, _ := b.Source.Index(i, b.Playable)
			for _, e := range entries {
				if !p.inWindow(e.Time) {
					continue
				}
				perConn[e.Conn]++
				if !begun || e.Time.Before(c.First) {
					c.First, begun = e.Time, true
				}
			}
		}
		for _, conn := range b.Source.Connections() { // in a fixed order
			if b.Playable(conn) {
				c.add(b.Routes[conn], perConn[conn])
			}
		}
	}
	return c, nil
}

func (c *Counts) add(r *Route, messages uint64) {
	n := c.ByTopic[r.Topic]
	if n == nil {
		n = new(topicCount)
		c.ByTopic[r.Topic] = n
	}
	n.Messages += messages
	n.Recorded.add(r.Conn.Topic)
	n.Callers.add(r.Conn.Header.CallerID())
}
