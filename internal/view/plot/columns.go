// Package plot makes what a page draws of the values of a field: for each column of pixels the first, the
// least, the greatest and the last value, so that a spike is seen at every zoom; and bands of texts.
//
// It computes, from payloads that its caller reads. Its memory is in proportion to the columns, not to
// the messages.
package plot

import (
	"math"
	"time"
	"unicode/utf8"

	"github.com/gorosbag/gorosbag/rosbag"
)

// MaxColumns is the most columns of an Axis.
const MaxColumns = 4096

// Axis divides a stretch of time into columns of equal width.
type Axis struct {
	From, To rosbag.Time
	Columns  int // from 1 to MaxColumns
}

// column returns the column of t, which may be outside.
func (a Axis) column(t rosbag.Time) int {
	span := a.To.Sub(a.From)
	if span <= 0 {
		return 0
	}
	c := math.Floor(float64(t.Sub(a.From)) / float64(span) * float64(a.Columns))
	if t == a.To {
		c--
	}
	return int(c)
}

// Column is the values of one column of pixels.
type Column struct {
	At                    int // its number
	First, Min, Max, Last float64
	Broken                bool // the line does not go on from the column before
}

// Line is a series of numbers, added by time.
type Line struct {
	axis   Axis
	gap    time.Duration
	broken bool
	last   rosbag.Time
	seen   bool

	Columns []Column // those with values
	Odd     int      // values that are not finite, which are not drawn
}

// NewLine returns an empty Line that breaks where no value comes for longer than gap; never if that is 0.
func NewLine(axis Axis, gap time.Duration) *Line { return &Line{axis: axis, gap: gap} }

// Break makes the line begin anew with the next value.
func (l *Line) Break() { l.broken = true }

// Add adds the value of a message. One that is not finite breaks the line.
func (l *Line) Add(t rosbag.Time, v float64) {
	if l.gap > 0 && l.seen && t.Sub(l.last) > l.gap {
		l.broken = true
	}
	l.last, l.seen = t, true
	if math.IsNaN(v) || math.IsInf(v, 0) {
		l.Odd++
		l.broken = true
		return
	}
	at := l.axis.column(t)
	if at < 0 || at >= l.axis.Columns {
		return
	}
	if n := len(l.Columns); n > 0 && l.Columns[n-1].At == at {
		c := &l.Columns[n-1]
		c.Min, c.Max, c.Last = min(c.Min, v), max(c.Max, v), v
		return
	}
	l.Columns = append(l.Columns, Column{at, v, v, v, v, l.broken})
	// stamps that run backwards: no endless list
	if n := len(l.Columns); n > 1 && l.Columns[n-2].At > at && n > 2*l.axis.Columns {
		l.Columns = l.Columns[:n-1]
	}
	l.broken = false
}

// Band is a stretch of time with one text.
type Band struct {
	From, To rosbag.Time
	Text     string
	Many     bool // several texts within one column of pixels
}

// maxText is the most bytes of a text of a band.
const maxText = 200

// Bands is a series of texts, added by time.
type Bands struct {
	axis Axis
	gap  time.Duration
	list []Band
	ends bool // the last one ends, because nothing came for long
}

// NewBands returns empty Bands that end where nothing comes for longer than gap; never if that is 0.
func NewBands(axis Axis, gap time.Duration) *Bands { return &Bands{axis: axis, gap: gap} }

// Break ends the present band.
func (b *Bands) Break() { b.ends = true }

// Short returns as much of a text as a band has.
func Short(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > maxText-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + " …"
}

// Add adds the text of a message.
func (b *Bands) Add(t rosbag.Time, text string) {
	text = Short(text)
	n := len(b.list)
	if n == 0 {
		b.list = append(b.list, Band{From: t, To: t, Text: text})
		return
	}
	last := &b.list[n-1]
	silent := b.ends || b.gap > 0 && t.Sub(last.To) > b.gap
	b.ends = false
	if !silent {
		last.To = t
		if last.Text == text && !last.Many {
			return
		}
		if b.axis.column(last.From) == b.axis.column(t) {
			last.Text, last.Many = text, true
			return
		}
	}
	if n < 2*b.axis.Columns {
		b.list = append(b.list, Band{From: t, To: t, Text: text})
	}
}

// List returns the bands by time.
func (b *Bands) List() []Band { return b.list }
