package scene

import (
	"encoding/binary"
	"fmt"
	"math"
)

// cloudField is a field of the points of a cloud.
type cloudField struct {
	name     string
	offset   int64
	datatype int64
}

// sizes are the bytes of the datatypes of sensor_msgs/PointField, from INT8, which is 1, to FLOAT64,
// which is 8.
var sizes = [...]int64{0, 1, 1, 2, 2, 4, 4, 4, 8}

// cloudLayout is how the points lie in the data.
type cloudLayout struct {
	width, height, step, row int64
	order                    binary.ByteOrder
	data                     []byte
	fields                   map[string]cloudField
}

// number returns a field of the point that begins at an offset.
func (l *cloudLayout) number(f cloudField, at int64) float64 {
	b := l.data[at+f.offset:]
	switch f.datatype {
	case 1:
		return float64(int8(b[0]))
	case 2:
		return float64(b[0])
	case 3:
		return float64(int16(l.order.Uint16(b)))
	case 4:
		return float64(l.order.Uint16(b))
	case 5:
		return float64(int32(l.order.Uint32(b)))
	case 6:
		return float64(l.order.Uint32(b))
	case 7:
		return float64(math.Float32frombits(l.order.Uint32(b)))
	default:
		return math.Float64frombits(l.order.Uint64(b))
	}
}

// read reads the layout, and checks that everything is inside the data.
func (l *cloudLayout) read(m *message) error {
	l.width, l.height = m.integer("width"), m.integer("height")
	l.step, l.row = m.integer("point_step"), m.integer("row_step")
	l.order, l.fields = binary.LittleEndian, make(map[string]cloudField)
	if m.integer("is_bigendian") != 0 {
		l.order = binary.BigEndian
	}
	l.data = m.field("data").Bytes()
	list := m.field("fields")
	if m.err != nil {
		return m.err
	}
	for v, err := range list.Elements() {
		if err != nil {
			return err
		}
		name, err1 := v.Field("name")
		offset, err2 := v.Field("offset")
		datatype, err3 := v.Field("datatype")
		if err1 != nil || err2 != nil || err3 != nil {
			return fmt.Errorf("field of a cloud: %w", ErrCorrupt)
		}
		switch name.Text() {
		case "x", "y", "z", "intensity", "rgb", "rgba":
			l.fields[name.Text()] = cloudField{name.Text(), offset.Int(), datatype.Int()}
		}
	}
	return l.check()
}

func (l *cloudLayout) check() error {
	for _, f := range l.fields {
		if f.datatype < 1 || f.datatype >= int64(len(sizes)) {
			return fmt.Errorf("field %s of a cloud has the unknown type %d: %w", f.name, f.datatype,
				ErrCorrupt)
		}
		if size := sizes[f.datatype]; f.offset+size > l.step {
			return fmt.Errorf("field %s of a cloud has %d bytes at %d, and a point has %d: %w", f.name, size,
				f.offset, l.step, ErrCorrupt)
		}
	}
	if _, ok := l.fields["x"]; !ok {
		return fmt.Errorf("cloud without a field x: %w", ErrCorrupt)
	}
	if _, ok := l.fields["y"]; !ok {
		return fmt.Errorf("cloud without a field y: %w", ErrCorrupt)
	}
	if l.width == 0 || l.height == 0 {
		return nil
	}
	bytes := int64(len(l.data))
	if l.height == 1 {
		l.row = max(l.row, l.width*l.step) // of one row some drivers leave it 0
	}
	if l.width > bytes || l.step > bytes || l.width*l.step > bytes || l.row < l.width*l.step ||
		l.height-1 > (bytes-l.width*l.step)/l.row {
		return fmt.Errorf("cloud of %d x %d points of %d bytes, rows of %d bytes, in %d bytes of data: %w",
			l.width, l.height, l.step, l.row, bytes, ErrCorrupt)
	}
	return nil
}

// cloud makes the scene of a sensor_msgs/PointCloud2. Points are colored by the first of rgb, intensity
// and z.
func (m *message) cloud() (any, error) {
	frame := ""
	if m.has("header.frame_id") {
		frame = m.text("header.frame_id")
	}
	var l cloudLayout
	if err := l.read(m); err != nil {
		return nil, err
	}
	by := ""
	var color cloudField
	for _, name := range []string{"rgb", "rgba", "intensity", "z"} {
		if f, ok := l.fields[name]; ok {
			by, color = name, f
			break
		}
	}
	if by == "rgba" {
		by = "rgb"
	}
	if by == "rgb" && sizes[color.datatype] != 4 {
		return nil, fmt.Errorf("field %s of a cloud has %d bytes, not 4: %w", color.name,
			sizes[color.datatype], ErrCorrupt)
	}
	total := l.width * l.height
	every := max(1, (total+maxPoints-1)/maxPoints)
	var c collector
	for i := int64(0); i < total; i += every {
		at := (i/l.width)*l.row + (i%l.width)*l.step
		value := math.NaN()
		if by != "" && by != "rgb" {
			value = l.number(color, at)
		}
		if c.add(l.number(l.fields["x"], at), l.number(l.fields["y"], at), value) && by == "rgb" {
			bits := l.order.Uint32(l.data[at+color.offset:]) // 0x00RRGGBB, also where it is called a float32
			c.rgb = append(c.rgb, uint8(bits>>16), uint8(bits>>8), uint8(bits))
		}
	}
	return c.scene(frame, by, int(total), int(every)), nil
}
