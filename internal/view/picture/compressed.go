package picture

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"strings"

	"github.com/gorosbag/gorosbag/internal/view/picture/internal/depth"
	"github.com/gorosbag/gorosbag/internal/view/picture/internal/draw"
)

// compressed makes the picture of a message with the fields of sensor_msgs/CompressedImage. What its data is
// shows in the data: the format is written by hand in many drivers, and wrong in some.
func (r *Reader) compressed(payload []byte, o Options) (*Picture, error) {
	format, data, err := r.lookup(payload)
	if err != nil {
		return nil, err
	}
	if depth.Is(format, data) {
		return compressedDepth(format, data, o)
	}
	f := fileFormatOf(data)
	if f == nil {
		return nil, fmt.Errorf("format %q, data that begins with % x: %w", format, data[:min(len(data), 8)],
			ErrUnknown)
	}
	p := &Picture{Encoding: format}
	if f.size == nil {
		return nil, fmt.Errorf("%s: no browser shows it, and it %w here", f.name, ErrUnknown)
	}
	s, err := f.size(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	p.Width, p.Height = s.width, s.height
	if err := checkSize(int64(s.width), int64(s.height), 1); err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	original, _, _ := strings.Cut(format, ";")
	if f.mediaType != "" && !o.Pixels && !o.Labels && s.values == 0 && p.fits(o) {
		p.Encoded, p.MediaType = data, f.mediaType
		return p, nil
	}
	img, err := decode(f, s, data)
	if err != nil {
		if f.mediaType == "" || o.Pixels {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		p.note("shown as it is: " + err.Error())
		p.Encoded, p.MediaType = data, f.mediaType
		return p, nil
	}
	p.draw(sourceOf(img, original, p), o)
	return p, nil
}

// fits reports whether the picture fits into the box without being made smaller.
func (p *Picture) fits(o Options) bool {
	fits := func(side, box int) bool { return side <= draw.MaxSide && (box <= 0 || side <= box) }
	return fits(p.Width, o.Width) && fits(p.Height, o.Height)
}

func (p *Picture) note(text string) {
	if text != "" {
		p.Notes = append(p.Notes, text)
	}
}

// decode decodes a picture whose size was read.
func decode(f *fileFormat, s fileSize, data []byte) (image.Image, error) {
	if f.decode == nil {
		return nil, fmt.Errorf("it %w in another size", ErrUnknown)
	}
	if err := checkSize(int64(s.width), int64(s.height), int64(s.bytes)); err != nil {
		return nil, err
	}
	img, err := f.decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if b := img.Bounds(); b.Dx() != s.width || b.Dy() != s.height {
		return nil, fmt.Errorf("%w: %d x %d pixels, not %d x %d", ErrCorrupt, b.Dx(), b.Dy(), s.width,
			s.height)
	}
	return img, nil
}

// sourceOf returns the pixels of a decoded picture. Gray of 16 bits is depth if the original encoding
// says so.
func sourceOf(img image.Image, original string, p *Picture) *draw.Source {
	b := img.Bounds()
	s := &draw.Source{Width: b.Dx(), Height: b.Dy()}
	switch img := img.(type) {
	case *image.Gray16:
		value := func(x, y int) uint16 { return img.Gray16At(x+b.Min.X, y+b.Min.Y).Y }
		if strings.EqualFold(strings.TrimSpace(original), "16UC1") {
			s.Value, s.Unit = depth.Millimeters(value), "mm"
			break
		}
		gray, note := draw.Stretch(s.Width, s.Height, value)
		p.note(note)
		s.Gray = func(x, y int) uint8 { return gray(value(x, y)) }
	case *image.Gray:
		s.Gray = func(x, y int) uint8 { return img.Pix[img.PixOffset(x+b.Min.X, y+b.Min.Y)] }
	case *image.YCbCr:
		s.RGB = func(x, y int) (uint8, uint8, uint8) {
			x, y = x+b.Min.X, y+b.Min.Y
			c := img.COffset(x, y)
			return color.YCbCrToRGB(img.Y[img.YOffset(x, y)], img.Cb[c], img.Cr[c])
		}
	default:
		s.RGB = func(x, y int) (uint8, uint8, uint8) {
			// the model's own type
			c, _ := color.NRGBAModel.Convert(img.At(x+b.Min.X, y+b.Min.Y)).(color.NRGBA)
			return c.R, c.G, c.B
		}
	}
	return s
}

// compressedDepth makes the picture of what compressed_depth_image_transport sends.
func compressedDepth(format string, data []byte, o Options) (*Picture, error) {
	d, err := depth.Decode(format, data,
		func(width, height int64) error { return checkSize(width, height, 2) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", format, err)
	}
	p := &Picture{Width: d.Width, Height: d.Height, Encoding: format}
	p.draw(d, o)
	return p, nil
}
