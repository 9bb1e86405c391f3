package diff

import (
	"context"
	"errors"

	"github.com/gorosbag/gorosbag/rosbag"
)

// probed is how many messages of each bag decide whether one is a copy of the other.
const probed = 512

// moment is when a topic has a message.
type moment struct {
	topic string
	time  rosbag.Time
}

// copies reports whether one bag is a copy of the other, or of a part of it: whether at least half of the
// messages at the beginning of the time that both have in common come at exactly the same times. Then
// messages are paired by their times first. It looks at what keep selects, and leaves it to the passes to
// report what cannot be read.
func copies(ctx context.Context, bags [2]rosbag.Source, keep func(*rosbag.Connection) bool) bool {
	from, to := bags[0].Info().Start, bags[0].Info().End
	if start := bags[1].Info().Start; from.Before(start) {
		from = start
	}
	if end := bags[1].Info().End; end.Before(to) {
		to = end
	}
	if to.Before(from) {
		return false
	}
	var lists [2][]moment
	for s := range lists {
		lists[s] = moments(bags[s], rosbag.Query{Start: from, Reuse: true, Cancel: ctx.Done(), Keep: keep})
		// the other one is not compared beyond
		if n := len(lists[s]); n == probed && lists[s][n-1].time.Before(to) {
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
			if counts[s]++; s == 0 {
				there[m] = true
			} else if there[m] {
				same++
			}
		}
	}
	return same > 0 && 2*same >= min(counts[0], counts[1])
}

// moments returns the times of the first messages of a query.
func moments(bag rosbag.Source, q rosbag.Query) (list []moment) {
	for m, err := range rosbag.Messages(bag, q) {
		switch {
		case errors.Is(err, rosbag.ErrCanceled):
			return list
		case err != nil:
			continue
		}
		if list = append(list, moment{m.Conn.Topic, m.Time}); len(list) == probed {
			break
		}
	}
	return list
}
