package face

import (
	"fmt"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/player/control"
)

// playDetails are the details of the health.
type playDetails struct {
	Phase      string   `json:"phase"`
	Lag        float64  `json:"lag"`
	Dropped    uint64   `json:"messages_dropped_last_minute"`
	WaitingFor []string `json:"waiting_for"`
}

// tooLate is the lag from which on there is a warning.
const tooLate = time.Second

func (f *Face) health(now time.Time, stats *control.Stats, dropped uint64) web.Health {
	d := playDetails{
		phases[stats.Phase], web.Seconds(stats.Late), f.dropped.Add(now, dropped),
		append([]string{}, stats.WaitingFor...),
	}
	h := web.Health{Details: d}
	h.Require(d.Dropped == 0,
		fmt.Sprintf("%s %s dropped within the last minute: subscribers are too slow",
			wording.Plural(d.Dropped, "message"), wording.Were(d.Dropped)))
	h.Require(stats.Paused || stats.Late < tooLate,
		fmt.Sprintf("messages are published %v late", stats.Late.Round(time.Millisecond)))
	h.Require(len(d.WaitingFor) == 0, "waiting for "+strings.Join(d.WaitingFor, ", "))
	return h
}
