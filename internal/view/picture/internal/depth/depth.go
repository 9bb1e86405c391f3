// Package depth decodes what compressed_depth_image_transport sends: depth as PNG or RVL behind a small head.
package depth

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"

	"github.com/gorosbag/gorosbag/internal/view/picture/internal/draw"
	"github.com/gorosbag/gorosbag/internal/view/picture/internal/encoding"
)

// The head: a number for the format, and the two parameters A and B of depth in meters, which is A / (v - B).
const (
	headBytes = 12
	atA, atB  = 4, 8
)

const pngMagic = "\x89PNG"

// Is reports whether a compressed image has depth behind a head: its format says so, or else its data
// shows it.
func Is(format string, data []byte) bool {
	return strings.Contains(strings.ToLower(format), "compresseddepth") || len(data) > headBytes &&
		bytes.HasPrefix(data[headBytes:], []byte(pngMagic))
}

// Decode returns the depth in a compressed image. Older publishers name neither PNG nor the original
// encoding. checkSize is asked before memory is taken.
func Decode(format string, data []byte, checkSize func(width, height int64) error) (*draw.Source, error) {
	if len(data) <= headBytes {
		return nil, fmt.Errorf("%d bytes of data: %w", len(data), encoding.ErrCorrupt)
	}
	head, body := data[:headBytes], data[headBytes:]
	var m *matrix
	var err error
	if bytes.HasPrefix(body, []byte(pngMagic)) {
		m, err = decodePNG(body, checkSize)
	} else {
		m, err = decodeRVL(body, checkSize)
	}
	if err != nil {
		return nil, err
	}
	s := &draw.Source{Width: m.width, Height: m.height}
	if strings.Contains(strings.ToUpper(format), "32FC1") {
		a, b := float64(float32At(head, atA)), float64(float32At(head, atB))
		s.Value, s.Unit = meters(m.at, a, b), "m"
	} else {
		s.Value, s.Unit = Millimeters(m.at), "mm"
	}
	return s, nil
}

func float32At(b []byte, at int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(b[at:]))
}

// matrix is depth as it was sent.
type matrix struct {
	width, height int
	at            func(x, y int) uint16
}

// Millimeters returns depth in millimeters, where 0 means that nothing was measured.
func Millimeters(at func(x, y int) uint16) func(x, y int) float64 {
	return func(x, y int) float64 {
		if v := at(x, y); v > 0 {
			return float64(v)
		}
		return math.NaN()
	}
}

// meters returns depth in meters, of what was quantized as a + b of its inverse.
func meters(at func(x, y int) uint16, a, b float64) func(x, y int) float64 {
	return func(x, y int) float64 {
		v := at(x, y)
		if d := a / (float64(v) - b); v > 0 && d > 0 && !math.IsInf(d, 0) {
			return d
		}
		return math.NaN()
	}
}

func decodePNG(body []byte, checkSize func(width, height int64) error) (*matrix, error) {
	c, err := png.DecodeConfig(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", encoding.ErrCorrupt, err)
	}
	if c.ColorModel != color.Gray16Model {
		return nil, fmt.Errorf("%w: PNG without 16 bits of gray", encoding.ErrCorrupt)
	}
	if err := checkSize(int64(c.Width), int64(c.Height)); err != nil {
		return nil, err
	}
	img, err := png.Decode(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", encoding.ErrCorrupt, err)
	}
	gray, ok := img.(*image.Gray16)
	if !ok {
		return nil, errors.New("PNG that is not gray") // not reached: its model was
	}
	return &matrix{c.Width, c.Height, func(x, y int) uint16 { return gray.Gray16At(x, y).Y }}, nil
}
