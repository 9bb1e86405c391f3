package scene

import (
	"fmt"
	"math"

	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

const (
	maxLine  = 4000 // points
	maxPlace = 1e9  // meters: what is farther away is no place
	// fastest is a speed above which a track has jumped, in meters per second, if it is by more than jump
	// meters.
	fastest, jump = 50, 5
)

// LineScene is a track or a path in the x-y plane, in meters. Its scale is the same for both.
type LineScene struct {
	Kind  Kind   `json:"kind"`
	Frame string `json:"frame"`
	Total int    `json:"total"` // positions that were read
	// X and Y are the points, thinned out, and T their times in seconds; a path has no times.
	X []float64 `json:"x"`
	Y []float64 `json:"y"`
	T []float64 `json:"t,omitempty"`
	// Breaks are the numbers of points to which no line leads.
	Breaks []int `json:"breaks,omitempty"`
	// Origin is the latitude and longitude of the place 0, 0, if these are what the messages have.
	Origin []float64 `json:"origin,omitempty"`
	// Notes are what is peculiar about it, in words.
	Notes []string `json:"notes,omitempty"`
}

// point is a place at a time, in seconds.
type point struct {
	x, y, t float64
	begins  bool // no line leads here
}

func (p point) distance(q point) float64 { return math.Hypot(p.x-q.x, p.y-q.y) }

// line thins out points as they come: none is nearer to the one before than a distance that grows.
type line struct {
	points []point
	last   point // not yet among the points
	apart  float64
	total  int
}

func (l *line) add(p point) {
	l.total++
	if l.total > 1 && (p.begins || l.far(l.last)) {
		l.keep(l.last)
	}
	l.last = p
}

func (l *line) far(p point) bool {
	return len(l.points) == 0 || p.begins || p.distance(l.points[len(l.points)-1]) > l.apart
}

// keep adds a point. When there are too many, each second one goes, or more if they are near to each other.
func (l *line) keep(p point) {
	if len(l.points) < maxLine-1 {
		l.points = append(l.points, p)
		return
	}
	xs, ys := make([]float64, len(l.points)), make([]float64, len(l.points))
	for i, q := range l.points {
		xs[i], ys[i] = q.x, q.y
	}
	left, right := limits(xs)
	low, high := limits(ys)
	l.apart = max(2*l.apart, math.Hypot(right-left, high-low)/maxLine)
	was := l.points
	l.points = l.points[:0]
	for i, q := range was {
		if len(l.points) == 0 || i%2 == 0 && (q.begins || q.distance(l.points[len(l.points)-1]) > l.apart) {
			l.points = append(l.points, q)
		} else if next := &p; q.begins { // the break stays
			if i+1 < len(was) {
				next = &was[i+1]
			}
			next.begins = true
		}
	}
	l.points = append(l.points, p)
}

// scene returns the line so far.
func (l *line) scene(k Kind, frame string) *LineScene {
	s := &LineScene{Kind: k, Frame: frame, Total: l.total, X: []float64{}, Y: []float64{}}
	all := l.points
	if l.total > 0 {
		all = append(all[:len(all):len(all)], l.last)
	}
	round := func(v float64) float64 { return math.Round(v*1e4) / 1e4 } // a tenth of a millimeter
	for i, p := range all {
		s.X, s.Y = append(s.X, round(p.x)), append(s.Y, round(p.y))
		if k == Track {
			s.T = append(s.T, p.t)
		}
		if p.begins && i > 0 {
			s.Breaks = append(s.Breaks, i)
		}
	}
	return s
}

// path makes the scene of a nav_msgs/Path.
func (m *message) path() (any, error) {
	frame := ""
	if m.has("header.frame_id") {
		frame = m.text("header.frame_id")
	}
	poses := m.field("poses")
	if m.err != nil {
		return nil, m.err
	}
	var l line
	lost := 0
	for v, err := range poses.Elements() {
		for _, name := range []string{"pose", "position"} {
			if err == nil {
				v, err = v.Field(name)
			}
		}
		var x, y rosmsg.Value
		if err == nil {
			x, err = v.Field("x")
		}
		if err == nil {
			y, err = v.Field("y")
		}
		if err != nil {
			return nil, err
		}
		if !isPlace(x.Float(), y.Float()) {
			lost++
			continue
		}
		l.add(point{x: x.Float(), y: y.Float()})
	}
	s := l.scene(Path, frame)
	s.note("without numbers: ", lost, "position")
	return s, nil
}

func isPlace(x, y float64) bool { return math.Abs(x) <= maxPlace && math.Abs(y) <= maxPlace } // NaN is none

// note adds a note about n things.
func (s *LineScene) note(before string, n int, thing string) {
	if n > 0 {
		s.Notes = append(s.Notes, before+wording.Plural(n, thing))
	}
}

// place is where a message has its position.
type place struct {
	x, y, frame, status *rosmsg.Path // frame and status are nil if there are none
	degrees             bool         // they are longitude and latitude
}

// places are the fields that hold positions, by name. Of those with two names the third has to be there,
// too: a message with x and y alone is not always a place.
var places = [][3]string{
	{"pose.pose.position.x", "pose.pose.position.y"},
	{"pose.position.x", "pose.position.y"},
	{"transform.translation.x", "transform.translation.y"},
	{"point.x", "point.y"},
	{"position.x", "position.y", "orientation.w"},
	{"x", "y", "theta"},
	{"longitude", "latitude"},
}

// placeOf returns where messages of a type have their position, or nil if they have none.
func placeOf(t *rosmsg.Type) *place {
	number := func(path string) *rosmsg.Path {
		p, err := t.Path(path)
		if err != nil || p.Type() != "float64" && p.Type() != "float32" {
			return nil
		}
		return p
	}
	for _, names := range places {
		p := &place{x: number(names[0]), y: number(names[1]), degrees: names[0] == "longitude"}
		if p.x == nil || p.y == nil || names[2] != "" && number(names[2]) == nil {
			continue
		}
		p.frame, _ = t.Path("header.frame_id")
		if p.frame != nil && p.frame.Type() != "string" {
			p.frame = nil
		}
		if status, err := t.Path("status.status"); err == nil && status.Type() == "int8" {
			p.status = status
		}
		return p
	}
	return nil
}

// read returns the position in a payload; ok is false if it has none.
func (p *place) read(payload []byte) (x, y float64, frame string, ok bool, err error) {
	vx, err := p.x.Lookup(payload)
	if err != nil {
		return 0, 0, "", false, err
	}
	vy, err := p.y.Lookup(payload)
	if err != nil {
		return 0, 0, "", false, err
	}
	if p.frame != nil {
		f, err := p.frame.Lookup(payload)
		if err != nil {
			return 0, 0, "", false, err
		}
		frame = cut(f)
	}
	x, y = vx.Float(), vy.Float()
	ok = isPlace(x, y)
	if p.degrees {
		// receivers say 0, 0 for nothing
		ok = ok && math.Abs(x) <= 360 && math.Abs(y) <= 90 && (x != 0 || y != 0)
		if p.status != nil {
			status, err := p.status.Lookup(payload)
			if err != nil {
				return 0, 0, "", false, err
			}
			ok = ok && status.Int() >= 0
		}
	}
	return x, y, frame, ok, nil
}

// track gathers positions.
type track struct {
	options Options
	places  map[*rosmsg.Type]*place
	line    line
	frame   string
	at      rosbag.Time // of the last position
	origin  []float64   // latitude and longitude

	lost, jumps, frames int
}

// Add implements Gatherer.
func (t *track) Add(m Message) error {
	p, known := t.places[m.Type]
	if !known {
		if t.places == nil {
			t.places = make(map[*rosmsg.Type]*place)
		}
		p = placeOf(m.Type)
		t.places[m.Type] = p
	}
	if p == nil {
		return fmt.Errorf("%s has no position", m.Type.Name())
	}
	x, y, frame, ok, err := p.read(m.Payload)
	if err != nil {
		return err
	}
	if !ok {
		t.lost++
		return nil
	}
	if p.degrees {
		x, y = t.meters(x, y)
	}
	next := point{x: x, y: y, t: t.options.seconds(m.Time)}
	if t.line.total > 0 {
		away := next.distance(t.line.last)
		switch {
		case frame != t.frame:
			t.frames++
			next.begins = true
		case away > jump && away > fastest*m.Time.Sub(t.at).Seconds():
			t.jumps++
			next.begins = true
		}
	}
	t.frame, t.at = frame, m.Time
	t.line.add(next)
	return nil
}

// meters returns the place of a longitude and a latitude, from the first one.
func (t *track) meters(longitude, latitude float64) (x, y float64) {
	const perDegree = 6371008.8 * math.Pi / 180 // on a sphere with the mean radius of the earth
	if t.origin == nil {
		t.origin = []float64{latitude, longitude}
	}
	east := math.Remainder(longitude-t.origin[1], 360)
	return east * perDegree * math.Cos(t.origin[0]*math.Pi/180), (latitude - t.origin[0]) * perDegree
}

// Scene implements Gatherer.
func (t *track) Scene() any {
	s := t.line.scene(Track, t.frame)
	s.Origin = t.origin
	s.note("without a position: ", t.lost, "message")
	s.note("", t.jumps, "jump")
	s.note("changes of the frame: ", t.frames, "time")
	return s
}
