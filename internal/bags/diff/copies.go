package diff

import (
	"github.com/gorosbag/gorosbag/rosbag"
)

// probed is how many messages of each bag decide whether one is a copy of the other.
const probed = 512

// moment is when a topic has a message.
type moment struct {
	topic string
	time  rosbag.Time
}

// copies reports whether one bag is a copy of the other, or of a part of it: whether at least half of the messages at the
// beginning of the time that both have in common come at exactly the same times. Then messages are paired by their times
// first. What cannot be read here the passes report.
func (c *comparison) copies() bool {
	from, to := c.bags[A].Info().Start, c.bags[A].Info().End
	if start := c.bags[B].Info().Start; from.Before(start) {
		from = start
	}
	if end := c.bags[B].Info().End; end.Before(to) {
		to = end
	}
	if to.Before(from) {
		return false
	}
	var lists [2][]moment
	for s := range lists {
		lists[s] = c.moments(Side(s), from)
		if n := len(lists[s]); n == probed && lists[s][n-1].time.Before(to) { // the other one is not compared beyond
			to = lists[s][n-1].time
		}
	}
	there := make(map[moment]bool)
	var counts [2]int
	same := 0
	for s, list := range lists {
		for _, m := range list {
			if to.Before(m.time) {
				break
			}
			counts[s]++
			if Side(s) == A {
				there[m] = true
			} else if there[m] {
				same++
			}
		}
	}
	return same > 0 && 2*same >= min(counts[A], counts[B])
}

// moments returns the times of the first messages of a bag from a time on, on topics that both bags have.
func (c *comparison) moments(s Side, from rosbag.Time) (list []moment) {
	both := make(map[*rosbag.Connection]bool)
	for _, t := range c.topics {
		for _, conn := range t.conns[s] {
			both[conn] = len(t.streams) > 0
		}
	}
	for m, err := range rosbag.Messages(c.bags[s], rosbag.Query{Start: from, Reuse: true, Cancel: c.ctx.Done(), Keep: func(conn *rosbag.Connection) bool { return both[conn] }}) {
		if err != nil {
			if c.ctx.Err() != nil {
				break
			}
			continue
		}
		if list = append(list, moment{m.Conn.Topic, m.Time}); len(list) == probed {
			break
		}
	}
	return list
}
