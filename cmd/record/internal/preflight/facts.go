package preflight

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/gorosbag/gorosbag/internal/face/term/termtext"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// leastBuffer is the shortest time of which the buffer has to hold the data.
const leastBuffer = time.Second

// Disk says how long the disk lasts: least at least, unless the recording deletes its oldest bags before.
// The recording ends when less than minSpace is free, which the user wrote as minText.
func (h *Heard) Disk(minSpace int64, minText string, deletion *control.Deletion, least time.Duration) Fact {
	f := Fact{What: "disk", Text: "free space is not known"}
	free := h.After.DiskFree
	if free < 0 {
		return f
	}
	f.Text = humanize.IBytes(uint64(free)) + " free"
	_, text := h.lasts(max(free-minSpace, 0))
	lasts := deletion.Lasts(free, minSpace, h.rate())
	switch {
	case free < minSpace && (!deletion.Limited || deletion.Bytes > 0):
		f.Text, f.Bad = f.Text+", less than --min-space "+minText, true
	case text == "":
	case lasts < 0:
		f.Text += "; the oldest bags are deleted before it is full"
	default:
		f.Text, f.Bad = f.Text+", for "+text+", without compression", lasts < least
		if deletion.Limited {
			f.Text += "; it is full before limits delete old bags: set --keep-free, or smaller limits"
		}
	}
	return f
}

// Buffer says how long a buffer of bytes holds what comes while the disk hangs. Negative means without a
// limit.
func (h *Heard) Buffer(bytes int64) Fact {
	if bytes < 0 {
		return Fact{What: "buffer", Text: "without a limit"}
	}
	f := Fact{What: "buffer", Text: humanize.IBytes(uint64(bytes))}
	if lasts, text := h.lasts(bytes); lasts >= 0 {
		f.Text += ", for " + text
		f.Bad = lasts < leastBuffer
	}
	return f
}

// rate returns how many bytes came in a second.
func (h *Heard) rate() float64 {
	came := func(s *control.Stats) (n float64) {
		for i := range s.Topics {
			n += float64(s.Topics[i].CameBytes)
		}
		return n
	}
	return (came(&h.After) - came(&h.Before)) / max(h.After.Taken.Sub(h.Before.Taken).Seconds(), 1e-3)
}

// lasts says how long so many bytes last at the measured rate; negative if nothing came.
func (h *Heard) lasts(bytes int64) (time.Duration, string) {
	rate := h.rate()
	if rate < 1 {
		return -1, ""
	}
	d := time.Duration(min(float64(bytes)/rate, 1e9) * float64(time.Second))
	return d, fmt.Sprintf("%s at %s", finding.About(d), termtext.PerSecond(rate))
}
