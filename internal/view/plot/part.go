package plot

import (
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// Part is what a page is sent of one series of a plot: from the number From on, its columns or bands are
// these.
type Part struct {
	Series int `json:"series"`
	From   int `json:"from"`
	// number, first, least, greatest and last value, 1 if the line breaks before
	Columns [][6]float64 `json:"columns,omitempty"`
	Bands   []PartBand   `json:"bands,omitempty"`
}

// PartBand is a Band with times in seconds.
type PartBand struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Text string  `json:"text"`
	Many bool    `json:"many,omitempty"`
}

// End is what is said of a series at its end.
type End struct {
	Error string `json:"error,omitempty"`
	Odd   int    `json:"odd,omitempty"` // values that are not finite
}

// SetColumns sets the columns.
func (p *Part) SetColumns(columns []Column) {
	for _, c := range columns {
		broken := 0.0
		if c.Broken {
			broken = 1
		}
		p.Columns = append(p.Columns, [6]float64{float64(c.At), c.First, c.Min, c.Max, c.Last, broken})
	}
}

// SetBands sets the bands, with seconds from start.
func (p *Part) SetBands(bands []Band, start rosbag.Time) {
	seconds := func(t rosbag.Time) float64 { return float64(t.Sub(start)) / float64(time.Second) }
	for _, b := range bands {
		p.Bands = append(p.Bands, PartBand{seconds(b.From), seconds(b.To), b.Text, b.Many})
	}
}
