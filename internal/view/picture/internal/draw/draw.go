// Package draw makes the pixels of a message the picture that is shown: of the size that is wanted, with
// values as gray or colors. It knows no message and no encoding.
package draw

import (
	"image"
	"image/color"
	"math"
)

// MaxSide is the largest width and height of what is made, in pixels.
const MaxSide = 4096

// Source is the pixels of a message. It has one of RGB, Gray and Value.
type Source struct {
	Width, Height int // of which none is 0
	RGB           func(x, y int) (r, g, b uint8)
	Gray          func(x, y int) uint8
	Value         func(x, y int) float64 // NaN where there is none, and never an infinity
	Unit          string                 // of the values, if it is known
}

// Options are what is wanted, as picture.Options describes it.
type Options struct {
	Width, Height  int
	Min, Max       float64
	Colors, Labels bool
}

// Drawing is what was made.
type Drawing struct {
	Image image.Image // an image.Gray or image.RGBA
	Range *Range      // of values, if there are any
	Note  string      // what is wrong, or empty
	Exact bool        // edges and values count: it is more than what a camera sees
}

// fit returns the size of a picture in the box of the options.
func (s *Source) fit(o Options) (width, height int) {
	scale := 1.0
	for _, limit := range [][2]int{
		{s.Width, o.Width},
		{s.Height, o.Height},
		{s.Width, MaxSide},
		{s.Height, MaxSide},
	} {
		if limit[1] > 0 {
			scale = min(scale, float64(limit[1])/float64(limit[0]))
		}
	}
	side := func(n int) int { return max(1, min(n, int(math.Round(float64(n)*scale)))) }
	return side(s.Width), side(s.Height)
}

// maxSamples is how many pixels at most become one in each direction. More would cost more than they show.
const maxSamples = 4

// span is the pixels of a message that become one, in one direction: count of them, from first, step apart.
type span struct{ first, step, count int }

// spans divides n pixels into size ones.
func spans(n, size int) []span {
	s := make([]span, size)
	for i := range s {
		from, to := i*n/size, (i+1)*n/size // below 64 million times 4096
		s[i] = span{from, 1, max(1, to-from)}
		if s[i].count > maxSamples {
			s[i] = span{from + s[i].count/(2*maxSamples), s[i].count / maxSamples, maxSamples}
		}
	}
	return s
}

// middle returns the pixel in the middle.
func (s span) middle() int { return s.first + s.step*((s.count-1)/2) }

// Draw makes the picture in the size that the options want. Colors are averaged. Of values the one in the
// middle is taken: between two of them nothing may have been measured.
func (s *Source) Draw(o Options) Drawing {
	width, height := s.fit(o)
	xs, ys := spans(s.Width, width), spans(s.Height, height)
	box := image.Rect(0, 0, width, height)
	switch {
	case s.Value != nil:
		return s.drawValues(o, xs, ys)
	case s.Gray != nil && o.Labels:
		img := image.NewRGBA(box)
		for y, ySpan := range ys {
			for x, xSpan := range xs {
				img.SetRGBA(x, y, labelColor(s.Gray(xSpan.middle(), ySpan.middle())))
			}
		}
		return Drawing{Image: img, Exact: true}
	case s.Gray != nil:
		img := image.NewGray(box)
		for y, ySpan := range ys {
			row := img.Pix[y*img.Stride:]
			for x, xSpan := range xs {
				row[x] = s.meanGray(xSpan, ySpan)
			}
		}
		return Drawing{Image: img}
	default:
		img := image.NewRGBA(box)
		for y, ySpan := range ys {
			row := img.Pix[y*img.Stride:]
			for x, xSpan := range xs {
				pix := row[x*4 : x*4+4 : x*4+4]
				pix[0], pix[1], pix[2] = s.meanRGB(xSpan, ySpan)
				pix[3] = 0xff
			}
		}
		return Drawing{Image: img}
	}
}

func (s *Source) meanGray(xs, ys span) uint8 {
	if xs.count == 1 && ys.count == 1 {
		return s.Gray(xs.first, ys.first)
	}
	sum, n := 0, xs.count*ys.count
	for j := range ys.count {
		for i := range xs.count {
			sum += int(s.Gray(xs.first+i*xs.step, ys.first+j*ys.step))
		}
	}
	return uint8((sum + n/2) / n)
}

func (s *Source) meanRGB(xs, ys span) (r, g, b uint8) {
	if xs.count == 1 && ys.count == 1 {
		return s.RGB(xs.first, ys.first)
	}
	var sum [3]int
	for j := range ys.count {
		for i := range xs.count {
			r, g, b := s.RGB(xs.first+i*xs.step, ys.first+j*ys.step)
			sum[0], sum[1], sum[2] = sum[0]+int(r), sum[1]+int(g), sum[2]+int(b)
		}
	}
	n := xs.count * ys.count
	return uint8((sum[0] + n/2) / n), uint8((sum[1] + n/2) / n), uint8((sum[2] + n/2) / n)
}

// labelColor returns a color for the number of a class: black for 0, and colors far from each other for
// numbers that follow each other.
func labelColor(n uint8) color.RGBA {
	if n == 0 {
		return color.RGBA{A: 0xff}
	}
	const golden = 0.618034 // the part of a turn that keeps successive hues apart
	_, hue := math.Modf(float64(n) * golden)
	return hueColor(hue, []float64{1, 0.7, 0.45}[n%3])
}

// hueColor returns a saturated color: its hue is in turns, from red over green and blue to red.
func hueColor(hue, value float64) color.RGBA {
	channel := func(shift float64) uint8 {
		_, h := math.Modf(hue + shift)
		return uint8(math.Round(255 * value * min(1, max(0, math.Abs(h*6-3)-1))))
	}
	return color.RGBA{R: channel(0), G: channel(2.0 / 3), B: channel(1.0 / 3), A: 0xff}
}
