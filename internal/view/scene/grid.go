package scene

import (
	"fmt"
	"math"
)

const maxCells = 512 // in each direction

// GridScene is a map.
type GridScene struct {
	Kind  Kind   `json:"kind"`
	Frame string `json:"frame"`
	// Width and Height are the cells of the message, of Resolution meters each.
	Width      int64   `json:"width"`
	Height     int64   `json:"height"`
	Resolution float64 `json:"resolution"`
	// X, Y and Yaw are where the lower left corner is, in meters, and how the map is turned, in radians.
	X   float64 `json:"x"`
	Y   float64 `json:"y"`
	Yaw float64 `json:"yaw"`
	// Gray is Columns x Rows pixels, the upper row first: unknown is 128, free 255 and occupied 0. A
	// pixel that stands for several cells shows the one that is occupied most.
	Columns int    `json:"columns"`
	Rows    int    `json:"rows"`
	Gray    []byte `json:"gray"`
}

// grid makes the scene of a nav_msgs/OccupancyGrid.
func (m *message) grid() (any, error) {
	s := &GridScene{
		Kind: Grid, Width: m.integer("info.width"), Height: m.integer("info.height"),
		Resolution: m.number("info.resolution"),
		X:          m.number("info.origin.position.x"), Y: m.number("info.origin.position.y"),
	}
	s.Yaw = yaw(m.number("info.origin.orientation.x"), m.number("info.origin.orientation.y"),
		m.number("info.origin.orientation.z"), m.number("info.origin.orientation.w"))
	if m.has("header.frame_id") {
		s.Frame = m.text("header.frame_id")
	}
	cells := m.field("data").Wire()
	if m.err != nil {
		return nil, m.err
	}
	if s.Width == 0 || s.Height == 0 {
		return nil, fmt.Errorf("map of %d x %d cells: there is nothing to show", s.Width, s.Height)
	}
	// Both are below 1 << 32.
	if n := int64(len(cells)); s.Width > n || s.Height > n || s.Width*s.Height != n {
		return nil, fmt.Errorf("map of %d x %d cells with %d values: %w", s.Width, s.Height, n, ErrCorrupt)
	}
	if !finite(s.X) || !finite(s.Y) || !finite(s.Yaw) || !finite(s.Resolution) || s.Resolution <= 0 {
		return nil, fmt.Errorf("map with cells of %v m at %v, %v: %w", s.Resolution, s.X, s.Y, ErrCorrupt)
	}
	s.draw(cells)
	return s, nil
}

// draw makes the gray.
func (s *GridScene) draw(cells []byte) {
	width, height := int(s.Width), int(s.Height)
	scale := max(1, (max(width, height)+maxCells-1)/maxCells) // cells of a pixel in each direction
	s.Columns, s.Rows = (width+scale-1)/scale, (height+scale-1)/scale
	most := make([]int8, s.Columns*s.Rows)
	for i := range most {
		most[i] = math.MinInt8
	}
	for y := range height {
		row := most[(s.Rows-1-y/scale)*s.Columns:] // the first row of the message is the bottom
		for x, cell := range cells[y*width : (y+1)*width] {
			row[x/scale] = max(row[x/scale], int8(cell))
		}
	}
	s.Gray = make([]byte, len(most))
	for i, v := range most {
		s.Gray[i] = 128
		if v >= 0 && v <= 100 {
			s.Gray[i] = uint8((100 - int(v)) * 255 / 100)
		}
	}
}

// yaw returns the turn about z of a quaternion, in radians; 0 for one that is not set.
func yaw(x, y, z, w float64) float64 {
	if x == 0 && y == 0 && z == 0 && w == 0 {
		return 0
	}
	return math.Atan2(2*(w*z+x*y), 1-2*(y*y+z*z))
}
