package picture

import (
	"fmt"

	"github.com/gorosbag/gorosbag/internal/view/picture/internal/draw"
	"github.com/gorosbag/gorosbag/internal/view/picture/internal/encoding"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// rawPaths are the fields of sensor_msgs/Image that other pictures do not have. Without bigEndian, which
// other packages leave out, it is little-endian.
type rawPaths struct{ width, height, step, bigEndian *rosmsg.Path }

// newRawPaths finds the fields of a raw picture, and its encoding. It returns nil if there are none.
func newRawPaths(r *Reader, t *rosmsg.Type) *rawPaths {
	r.text = r.path(t, "encoding", "string")
	p := &rawPaths{
		width: r.path(t, "width", "uint32"), height: r.path(t, "height", "uint32"),
		step: r.path(t, "step", "uint32"), bigEndian: r.path(t, "is_bigendian", "uint8"),
	}
	if r.text == nil || p.width == nil || p.height == nil || p.step == nil {
		return nil
	}
	return p
}

// rawPicture makes the picture of a message with the fields of sensor_msgs/Image.
func (r *Reader) rawPicture(payload []byte, o Options) (*Picture, error) {
	name, data, err := r.lookup(payload)
	if err != nil {
		return nil, err
	}
	var n [4]int64
	for i, path := range []*rosmsg.Path{r.raw.width, r.raw.height, r.raw.step, r.raw.bigEndian} {
		if path == nil {
			continue
		}
		v, err := path.Lookup(payload)
		if err != nil {
			return nil, err
		}
		n[i] = v.Int()
	}
	p := &Picture{Width: int(n[0]), Height: int(n[1]), Encoding: name}
	l, known := encoding.Of(name)
	if err := checkSize(n[0], n[1], max(1, int64(l.Bytes()))); err != nil {
		return nil, err
	}
	if !known {
		return nil, fmt.Errorf("encoding %q of %d x %d pixels, %d bytes a row, %w", name, n[0], n[1], n[2],
			ErrUnknown)
	}
	s, notes, err := l.Source(encoding.Frame{
		Width: p.Width, Height: p.Height, Step: int(n[2]),
		BigEndian: n[3] != 0, Data: data,
	})
	if err != nil {
		return nil, fmt.Errorf("%s of %d x %d pixels: %w", name, n[0], n[1], err)
	}
	p.Notes = notes
	p.draw(s, o)
	return p, nil
}

// draw sets what can be seen.
func (p *Picture) draw(s *draw.Source, o Options) {
	d := s.Draw(draw.Options{
		Width: o.Width, Height: o.Height, Min: o.Min, Max: o.Max, Colors: o.Colors,
		Labels: o.Labels,
	})
	p.Image, p.Range, p.exact = d.Image, d.Range, d.Exact
	if d.Note != "" {
		p.Notes = append(p.Notes, d.Note)
	}
}
