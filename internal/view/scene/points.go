package scene

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/gorosbag/gorosbag/internal/text/wording"
)

const (
	maxPoints = 20_000
	// A point farther away is not drawn: it would leave the others in one pixel.
	maxDistance = 10_000 // meters
)

// PointsScene is points from above, in the frame of the sensor: x is forward, y to the left.
type PointsScene struct {
	Kind  Kind   `json:"kind"`
	Frame string `json:"frame"`
	Total int    `json:"total"` // points of the message
	Count int    `json:"count"` // points here
	// Box is the least x and y and the greatest x and y of the points, in meters.
	Box [4]float64 `json:"box"`
	// Places are x and y of each point as 16-bit numbers, little-endian, from 0 at the least to 65535 at
	// the greatest.
	Places []byte `json:"places"`
	// Colors has for each point a number from 0 to 255, which stands for From to To of the field By; or three
	// numbers for red, green and blue, if that is "rgb". It is empty without such a field.
	Colors []byte  `json:"colors,omitempty"`
	By     string  `json:"by,omitempty"`
	From   float64 `json:"from"`
	To     float64 `json:"to"`
	// Notes are what was left out, in words.
	Notes []string `json:"notes,omitempty"`
}

// collector makes the scene of points that come one by one.
type collector struct {
	x, y, by []float64
	rgb      []byte
	dropped  int
}

// add adds a point; by is NaN without a value that colors it.
func (c *collector) add(x, y, by float64) bool {
	if !(math.Abs(x) <= maxDistance && math.Abs(y) <= maxDistance) { // NaN is none
		c.dropped++
		return false
	}
	c.x, c.y, c.by = append(c.x, x), append(c.y, y), append(c.by, by)
	return true
}

func limits(values []float64) (least, greatest float64) {
	least, greatest = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if finite(v) {
			least, greatest = min(least, v), max(greatest, v)
		}
	}
	if least > greatest {
		return 0, 0
	}
	return least, greatest
}

// part returns where v is from least to greatest, as a number up to most.
func part(v, least, greatest, most float64) float64 {
	if !finite(v) || greatest <= least {
		return 0
	}
	return math.Round(min(1, max(0, (v/2-least/2)/(greatest/2-least/2))) * most)
}

// scene finishes the scene; by names what colors the points, or is empty.
func (c *collector) scene(frame, by string, total, every int) *PointsScene {
	s := &PointsScene{Kind: Points, Frame: frame, Total: total, Count: len(c.x), Places: []byte{}}
	s.Box[0], s.Box[2] = limits(c.x)
	s.Box[1], s.Box[3] = limits(c.y)
	for i := range c.x {
		s.Places = binary.LittleEndian.AppendUint16(s.Places,
			uint16(part(c.x[i], s.Box[0], s.Box[2], math.MaxUint16)))
		s.Places = binary.LittleEndian.AppendUint16(s.Places,
			uint16(part(c.y[i], s.Box[1], s.Box[3], math.MaxUint16)))
	}
	switch {
	case by == "rgb":
		s.By, s.Colors = by, c.rgb
	case by != "" && len(c.x) > 0:
		s.By = by
		s.From, s.To = limits(c.by)
		for _, v := range c.by {
			s.Colors = append(s.Colors, uint8(part(v, s.From, s.To, math.MaxUint8)))
		}
	}
	if every > 1 {
		s.Notes = append(s.Notes, fmt.Sprintf("one of %d points is shown", every))
	}
	if c.dropped > 0 {
		s.Notes = append(s.Notes, "without a place that can be shown: "+wording.Plural(c.dropped, "point"))
	}
	return s
}

// scan makes the scene of a sensor_msgs/LaserScan.
func (m *message) scan() (any, error) {
	start, step := m.number("angle_min"), m.number("angle_increment")
	least, most := 0.0, math.Inf(1)
	if m.has("range_min") && m.has("range_max") {
		least, most = m.number("range_min"), m.number("range_max")
	}
	ranges := float32s(m.field("ranges").Wire())
	by, intensities := "", float32s(nil)
	if m.has("intensities") {
		if intensities = m.field("intensities").Wire(); intensities.len() == ranges.len() &&
			ranges.len() > 0 {
			by = "intensity"
		}
	}
	frame := ""
	if m.has("header.frame_id") {
		frame = m.text("header.frame_id")
	}
	if m.err != nil {
		return nil, m.err
	}
	if !finite(start) || !finite(step) {
		return nil, fmt.Errorf("scan from angle %v in steps of %v: %w", start, step, ErrCorrupt)
	}
	every := (ranges.len() + maxPoints - 1) / maxPoints
	var c collector
	for i := 0; i < ranges.len(); i += every {
		r := ranges.at(i)
		if !(r >= least && r <= most) {
			c.dropped++
			continue
		}
		value := math.NaN()
		if by != "" {
			value = intensities.at(i)
		}
		sin, cos := math.Sincos(start + float64(i)*step)
		c.add(r*cos, r*sin, value)
	}
	return c.scene(frame, by, ranges.len(), every), nil
}
