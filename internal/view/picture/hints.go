package picture

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// When a picture gets a hint. A hint is no verdict: a robot may stand in the dark.
const (
	darkPart   = 0.9 // of the pixels
	brightPart = 0.5
	blurred    = 0.4 // of the median sharpness
	frozenFor  = 2 * time.Second

	blurSamples = 8   // that a median needs
	historyMost = 512 // samples
)

// Hint is a word about a picture.
type Hint struct {
	// Word is "dark", "overexposed", "blurred", "frozen" or, of a picture in which nothing is to be seen,
	// "uniform".
	Word string `json:"word"`
	// Since is the time from which on all pictures that are known are the same, byte by byte, in seconds
	// since 1970: always if it is "frozen", and zero if it is "uniform" for a moment only.
	Since float64 `json:"since,omitempty"`
}

// History is the figures of pictures of one topic, in any order, and the hints that follow from them. The
// zero History is empty. It keeps the 512 pictures around where it was added to last. One goroutine at a
// time may use it.
type History struct{ samples []sample }

type sample struct {
	at rosbag.Time
	Figures
}

// Add adds the figures of the picture at a time.
func (h *History) Add(at rosbag.Time, f Figures) {
	i, known := slices.BinarySearchFunc(h.samples, at,
		func(s sample, t rosbag.Time) int { return s.at.Compare(t) })
	if known {
		h.samples[i].Figures = f
		return
	}
	h.samples = slices.Insert(h.samples, i, sample{at, f})
	if n := len(h.samples); n > historyMost {
		if at.Sub(h.samples[0].at) > h.samples[n-1].at.Sub(at) {
			h.samples = slices.Delete(h.samples, 0, 1)
		} else {
			h.samples = h.samples[:n-1]
		}
	}
}

// Hints returns what can be said about the picture at a time, which was added.
func (h *History) Hints(at rosbag.Time) (hints []Hint) {
	i, known := slices.BinarySearchFunc(h.samples, at,
		func(s sample, t rosbag.Time) int { return s.at.Compare(t) })
	if !known {
		return nil
	}
	s := h.samples[i]
	if s.camera {
		switch {
		case s.Dark >= darkPart:
			hints = append(hints, Hint{Word: "dark"})
		case s.Bright >= brightPart:
			hints = append(hints, Hint{Word: "overexposed"})
		case !s.Uniform && s.Sharpness < blurred*h.medianSharpness():
			hints = append(hints, Hint{Word: "blurred"})
		}
	}
	first := i
	for first > 0 && h.samples[first-1].bytes == s.bytes {
		first--
	}
	since := 0.0
	if from := h.samples[first].at; at.Sub(from) > frozenFor {
		since = float64(from.Sec) + float64(from.Nsec)/1e9
	}
	switch {
	case s.Uniform:
		// the bytes of a covered lens are equal, too, so that nobody can tell whether the camera works
		hints = append(hints, Hint{"uniform", since})
	case since > 0:
		hints = append(hints, Hint{"frozen", since})
	}
	return hints
}

// medianSharpness returns the median of the pictures, and 0 if these are too few.
func (h *History) medianSharpness() float64 {
	if len(h.samples) < blurSamples {
		return 0
	}
	all := make([]float64, len(h.samples))
	for i, s := range h.samples {
		all[i] = s.Sharpness
	}
	slices.Sort(all)
	return all[len(all)/2]
}
