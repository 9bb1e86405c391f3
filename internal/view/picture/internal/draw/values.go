package draw

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"strconv"
)

// Range is which values are shown from black to white, or from blue to red.
type Range struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
	// Unit is "mm" or "m" for depth by the conventions of ROS, and empty if it is not known.
	Unit string `json:"unit,omitempty"`
}

// String returns the range as "400 to 8300 mm".
func (r Range) String() string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
	if r.Unit == "mm" {
		number = func(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }
	}
	s := number(r.Min) + " to " + number(r.Max)
	if r.Unit != "" {
		s += " " + r.Unit
	}
	return s
}

// valueRange returns the least and the greatest value; ok is false if there is none.
func (s *Source) valueRange() (r Range, ok bool) {
	r = Range{math.Inf(1), math.Inf(-1), s.Unit}
	for y := range s.Height {
		for x := range s.Width {
			if v := s.Value(x, y); v < r.Min || v > r.Max { // not NaN
				r.Min, r.Max = min(r.Min, v), max(r.Max, v)
			}
		}
	}
	return r, r.Min <= r.Max
}

// drawValues draws values as gray or in colors. Where there is none, it is black; the least value is a little
// brighter than that.
func (s *Source) drawValues(o Options, xs, ys []span) Drawing {
	d := Drawing{Exact: true}
	r, ok := Range{o.Min, o.Max, s.Unit}, true
	if !(o.Min < o.Max) || math.IsInf(o.Min, 0) || math.IsInf(o.Max, 0) {
		r, ok = s.valueRange()
	}
	if ok {
		d.Range = &r
	} else {
		d.Note = "no pixel has a value"
	}
	whole := r.Max/2 - r.Min/2 // halves, so that the difference of two large values is no infinity
	share := func(x, y int) (share float64, ok bool) {
		v := s.Value(x, y)
		switch {
		case math.IsNaN(v):
			return 0, false
		case whole <= 0:
			return 1, true
		}
		return min(1, max(0, (v/2-r.Min/2)/whole)), true
	}
	box := image.Rect(0, 0, len(xs), len(ys))
	if !o.Colors {
		img := image.NewGray(box)
		for y, ySpan := range ys {
			for x, xSpan := range xs {
				if v, ok := share(xSpan.middle(), ySpan.middle()); ok {
					img.Pix[y*img.Stride+x] = uint8(1 + math.Round(254*v))
				}
			}
		}
		d.Image = img
		return d
	}
	img := image.NewRGBA(box)
	for y, ySpan := range ys {
		for x, xSpan := range xs {
			c := color.RGBA{A: 0xff}
			if v, ok := share(xSpan.middle(), ySpan.middle()); ok {
				c = hueColor((1-v)*2/3, 1)
			}
			img.SetRGBA(x, y, c)
		}
	}
	d.Image = img
	return d
}

// Stretch turns 16-bit brightness into gray: its high byte, or all of the range if the camera uses fewer
// bits. It returns a note about that.
func Stretch(width, height int, value func(x, y int) uint16) (gray func(v uint16) uint8, note string) {
	lo, hi := uint16(math.MaxUint16), uint16(0)
	for y := range height {
		for x := range width {
			v := value(x, y)
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	const twelveBits = 1 << 12
	if hi >= twelveBits {
		return func(v uint16) uint8 { return uint8(v >> 8) }, ""
	}
	note = fmt.Sprintf("stretched from %d to %d of 65535", lo, hi)
	if hi == lo {
		return func(v uint16) uint8 { return uint8(v >> 4) }, note
	}
	return func(v uint16) uint8 { return uint8((int(v-lo)*255 + int(hi-lo)/2) / int(hi-lo)) }, note
}
