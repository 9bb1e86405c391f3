package encoding

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/gorosbag/gorosbag/internal/view/picture/internal/draw"
)

// ErrCorrupt is matched by errors about a message whose parts do not fit each other.
var ErrCorrupt = errors.New("damaged picture")

// Frame is the fields of sensor_msgs/Image.
type Frame struct {
	Width, Height, Step int
	BigEndian           bool
	Data                []byte
}

// Source returns the pixels of a frame, and what is special about them, in words. They borrow the data.
func (l Layout) Source(f Frame) (s *draw.Source, notes []string, err error) {
	note := func(text string) {
		if text != "" {
			notes = append(notes, text)
		}
	}
	if l.kind == bayer && (f.Width < 2 || f.Height < 2) {
		return nil, nil, errors.New("less than one block of 2 x 2")
	}
	short, err := l.complete(&f)
	if err != nil {
		return nil, nil, err
	}
	note(short)
	s = &draw.Source{Width: f.Width, Height: f.Height}
	note(l.pixels(&f, s))
	if l.kind == values && l.channels > 1 {
		note(fmt.Sprintf("the first of %d channels", l.channels))
	}
	if l.kind == bayer {
		note("half the size: one pixel of each block of the Bayer pattern")
	}
	return s, notes, nil
}

// complete checks that the data is there. Of a short last row, the rest becomes black, which the note says.
func (l Layout) complete(f *Frame) (note string, err error) {
	row := int64(f.Width) * int64(l.Bytes())
	if int64(f.Step) < row {
		return "", fmt.Errorf("rows of %d bytes, which need %d: %w", uint32(f.Step), row, ErrCorrupt)
	}
	rest := l.extra(f)
	before := (int64(f.Height) - 1) * int64(f.Step)
	need := before + row + rest
	have := int64(len(f.Data))
	switch {
	case have >= need:
		return "", nil
	case rest > 0 || have < before || have == 0:
		return "", fmt.Errorf("%d bytes of data, which need %d: %w", have, need, ErrCorrupt)
	}
	f.Data = append(f.Data[:have:have], make([]byte, need-have)...)
	return fmt.Sprintf("the last row is short by %d bytes", need-have), nil
}

// word returns the 16 bits at an offset.
func (f *Frame) word(at int) uint16 {
	if f.BigEndian {
		return uint16(f.Data[at])<<8 | uint16(f.Data[at+1])
	}
	return uint16(f.Data[at+1])<<8 | uint16(f.Data[at])
}

// words returns 16-bit brightness as gray, and a note about that.
func (f *Frame) words() (gray func(x, y int) uint8, note string) {
	value := func(x, y int) uint16 { return f.word(y*f.Step + 2*x) }
	reduce, note := draw.Stretch(f.Width, f.Height, value)
	return func(x, y int) uint8 { return reduce(value(x, y)) }, note
}

// pixels sets how the pixels of a frame are read. It returns a note about that, or "".
func (l Layout) pixels(f *Frame, s *draw.Source) (note string) {
	switch l.kind {
	case colors:
		s.RGB = l.colors(f)
	case brightness:
		if l.depth == 2 {
			s.Gray, note = f.words()
			return note
		}
		s.Gray = func(x, y int) uint8 { return f.Data[y*f.Step+x] }
	case depth:
		s.Unit = l.unit
		value := l.values(f)
		s.Value = func(x, y int) float64 {
			if v := value(x, y); v > 0 {
				return v
			}
			return math.NaN()
		}
	case values:
		s.Value = l.values(f)
	case bayer:
		return l.bayer(f, s)
	case yuvPacked:
		s.RGB = l.packed(f)
	case yuvPlanes:
		s.RGB = l.planes(f)
	}
	return ""
}

// colors reads pixels of three or four channels. The fourth one, alpha, is ignored: cameras leave 0 there.
func (l Layout) colors(f *Frame) func(x, y int) (r, g, b uint8) {
	size, high := l.Bytes(), 0
	if l.depth == 2 && !f.BigEndian {
		high = 1 // the byte of a channel that is shown
	}
	r, g, b := l.order[0]*l.depth+high, l.order[1]*l.depth+high, l.order[2]*l.depth+high
	return func(x, y int) (uint8, uint8, uint8) {
		at := f.Data[y*f.Step+x*size:]
		return at[r], at[g], at[b]
	}
}

// values reads the first channel of pixels as numbers. Infinities are no values.
func (l Layout) values(f *Frame) func(x, y int) float64 {
	size := l.Bytes()
	var order binary.ByteOrder = binary.LittleEndian
	if f.BigEndian {
		order = binary.BigEndian
	}
	at := func(x, y int) []byte { return f.Data[y*f.Step+x*size:] }
	finite := func(v float64) float64 {
		if math.IsInf(v, 0) {
			return math.NaN()
		}
		return v
	}
	switch l.number {
	case floating:
		if l.depth == 8 {
			return func(x, y int) float64 { return finite(math.Float64frombits(order.Uint64(at(x, y)))) }
		}
		return func(x, y int) float64 { return finite(float64(math.Float32frombits(order.Uint32(at(x, y))))) }
	case signed:
		switch l.depth {
		case 1:
			return func(x, y int) float64 { return float64(int8(at(x, y)[0])) }
		case 2:
			return func(x, y int) float64 { return float64(int16(order.Uint16(at(x, y)))) }
		}
		return func(x, y int) float64 { return float64(int32(order.Uint32(at(x, y)))) }
	case unsigned:
		if l.depth == 1 {
			return func(x, y int) float64 { return float64(at(x, y)[0]) }
		}
		return func(x, y int) float64 { return float64(order.Uint16(at(x, y))) }
	}
	panic("encoding: unknown type of numbers")
}

// bayer makes one pixel of each block of 2 x 2: its red, the mean of its two greens, and its blue.
func (l Layout) bayer(f *Frame, s *draw.Source) (note string) {
	s.Width, s.Height = f.Width/2, f.Height/2
	sample := func(x, y int) uint8 { return f.Data[y*f.Step+x] }
	if l.depth == 2 {
		sample, note = f.words()
	}
	red, blue := l.order[0], l.order[2]
	// Red and blue are at opposite corners; green is at the others.
	green := [2]int{red ^ 1, red ^ 2}
	s.RGB = func(x, y int) (uint8, uint8, uint8) {
		in := func(place int) uint8 { return sample(2*x+(place&1), 2*y+(place>>1)) }
		return in(red), uint8((int(in(green[0])) + int(in(green[1])) + 1) / 2), in(blue)
	}
	return note
}

// packed reads pairs of pixels that share U and V.
func (l Layout) packed(f *Frame) func(x, y int) (r, g, b uint8) {
	bright, u, v := l.order[0], l.order[1], l.order[2]
	return func(x, y int) (uint8, uint8, uint8) {
		row := f.Data[y*f.Step:]
		pair := (x / 2) * 4
		if pair+4 > 2*f.Width {
			return yuv(row[pair+bright], row[pair+u], 128) // the last pixel of an odd row has no V
		}
		return yuv(row[pair+bright+(x%2)*2], row[pair+u], row[pair+v])
	}
}

// planes reads a plane of brightness, and one of pairs of U and V that several pixels share. The rows of the
// second plane follow each other without padding unless there is data enough for it.
func (l Layout) planes(f *Frame) func(x, y int) (r, g, b uint8) {
	u, v, share := l.order[0], l.order[1], l.order[2]
	rows, stride := (f.Height+share-1)/share, (f.Width+share-1)/share*2
	after := int64(f.Height) * int64(f.Step) // the first plane, with the padding of its last row
	left := int64(len(f.Data)) - after
	padded := int64(f.Step) * 2 / int64(share)
	first := (f.Height-1)*f.Step + f.Width // all of this was checked to be there
	if left >= int64(rows)*int64(stride) {
		first = int(after)
	}
	if left >= int64(rows)*padded && padded > int64(stride) {
		stride = int(padded)
	}
	return func(x, y int) (uint8, uint8, uint8) {
		pair := f.Data[first+y/share*stride+x/share*2:]
		return yuv(f.Data[y*f.Step+x], pair[u], pair[v])
	}
}

// yuv returns the color of brightness and two differences of color, of the full range.
func yuv(y, u, v uint8) (r, g, b uint8) {
	l, du, dv := int(y)*1000, int(u)-128, int(v)-128
	channel := func(n int) uint8 { return uint8(min(255, max(0, (n+500)/1000))) }
	return channel(l + 1403*dv), channel(l - 344*du - 714*dv), channel(l + 1770*du)
}
