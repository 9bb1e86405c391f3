package face

import (
	"fmt"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// LowTime is the time until the disk is full below which there is a warning.
const LowTime = 10 * time.Minute

// recordDetails are the details of the health.
type recordDetails struct {
	State  string `json:"state"`
	Topics int    `json:"topics"`
	// publishers with a link
	Publishers int `json:"publishers"`
	Unlinked   int `json:"topics_without_publisher"`
	// publishers that were not connected to for want of memory or descriptors
	Refused   int      `json:"publishers_refused"`
	LinksLost uint64   `json:"links_lost_last_minute"`
	Lost      uint64   `json:"messages_lost_last_minute"`
	DiskFree  *int64   `json:"disk_free"`
	TimeLeft  *float64 `json:"time_left"`
	Uploads   *uploads `json:"uploads,omitempty"`

	Findings []findingJSON `json:"findings"` // what is wrong with topics
}

func (f *Face) health(now time.Time, stats *control.Stats, s *recordState) web.Health {
	d := recordDetails{
		State: s.State, Lost: s.LostMinute, Refused: stats.Refused(), DiskFree: s.DiskFree,
		TimeLeft: s.TimeLeft, Uploads: s.Uploads, Findings: s.Findings,
	}
	lost := uint64(0)
	for i := range stats.Topics {
		d.Publishers += stats.Topics[i].Publishers
		lost += uint64(stats.Topics[i].LinksLost)
	}
	d.Topics, d.Unlinked = stats.Subscribed()
	d.LinksLost = f.links.Add(now, lost)
	h := web.Health{Details: d}
	h.Require(d.Lost == 0,
		fmt.Sprintf("%s %s lost within the last minute", wording.Plural(d.Lost, "message"),
			wording.Were(d.Lost)))
	h.Require(d.LinksLost == 0,
		fmt.Sprintf("links to publishers were lost within the last minute (%d)", d.LinksLost))
	h.Require(stats.Unread == "", "replies of the master cannot be read in full: "+stats.Unread)
	h.Require(d.Refused == 0,
		fmt.Sprintf("publishers were not connected to, for want of memory or file descriptors (%d)",
			d.Refused))
	for _, line := range s.Headlines {
		h.Require(false, line)
	}
	h.Require(stats.TimeLeft < 0 || stats.TimeLeft >= LowTime,
		fmt.Sprintf("the disk will be full in %v", stats.TimeLeft.Round(time.Second)))
	h.Require(!stats.Ending, "the recording is ending")
	if u := s.Uploads; u != nil { // an unreachable store is not a problem: robots leave their network
		h.Require(stats.Handover.State != control.HandoverFailing,
			fmt.Sprintf("the store has refused uploads since %s: %s",
				stats.Handover.StateSince.UTC().Format(time.RFC3339), u.Store.Error))
		h.Require(u.Refused == 0,
			fmt.Sprintf("bags are not uploaded because the store has other objects of their names (%d)",
				u.Refused))
		h.Require(u.Lost == 0, fmt.Sprintf("bags were deleted before they were uploaded (%d)", u.Lost))
	}
	return h
}

// notReadyReason says why messages would not be recorded now; empty if they would.
func notReadyReason(stats *control.Stats) string {
	switch {
	case stats.Ending:
		return "the recording is ending"
	case stats.File == "" &&
		(stats.Snapshots.Mode != control.SnapshotOnly || stats.State == control.StateStopped):
		return "there is no bag: the recording is " + stats.State.String()
	}
	return ""
}
