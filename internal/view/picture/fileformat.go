package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// fileFormat is a format of picture files.
type fileFormat struct {
	name      string
	magic     string // with ? for any byte
	mediaType string // empty if browsers do not show it
	size      func(data []byte) (fileSize, error)
	decode    func(r io.Reader) (image.Image, error) // nil if only a browser can
}

// fileSize is what the head of a file says about its picture.
type fileSize struct {
	width, height int
	bytes         int // of a pixel while it is decoded, at most
	values        int // bits of a channel if there is one, and a browser would not show all of them
}

// fileFormats are told apart by how their data begins.
var fileFormats = []*fileFormat{
	{"JPEG", "\xff\xd8\xff", "image/jpeg", jpegSize, jpeg.Decode},
	{"PNG", "\x89PNG", "image/png", sizeBy(png.DecodeConfig), png.Decode},
	{"WebP", "RIFF????WEBP", "image/webp", sizeBy(webp.DecodeConfig), webp.Decode},
	{"GIF", "GIF8", "image/gif", sizeBy(gif.DecodeConfig), gif.Decode},
	{"BMP", "BM", "image/bmp", sizeBy(bmp.DecodeConfig), bmp.Decode},
	{"TIFF", "II*\x00", "", sizeBy(tiff.DecodeConfig), tiff.Decode},
	{"TIFF", "MM\x00*", "", sizeBy(tiff.DecodeConfig), tiff.Decode},
	{"AVIF", "????ftypavif", "image/avif", avifSize, nil},
	{"JPEG 2000", "\x00\x00\x00\x0cjP", "", nil, nil},
}

// fileFormatOf returns the format of data, or nil if it is none that is known.
func fileFormatOf(data []byte) *fileFormat {
	for _, f := range fileFormats {
		if len(data) < len(f.magic) {
			continue
		}
		matches := true
		for i := range len(f.magic) {
			matches = matches && (f.magic[i] == '?' || f.magic[i] == data[i])
		}
		if matches {
			return f
		}
	}
	return nil
}

// sizeBy reads the size with a function of the package of a format.
func sizeBy(config func(io.Reader) (image.Config, error)) func(data []byte) (fileSize, error) {
	return func(data []byte) (fileSize, error) {
		c, err := config(bytes.NewReader(data))
		if err != nil {
			return fileSize{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		s := fileSize{width: c.Width, height: c.Height, bytes: 4}
		switch c.ColorModel {
		case color.Gray16Model:
			s.values = 16
		case color.RGBA64Model, color.NRGBA64Model:
			s.bytes = 8
		}
		return s, nil
	}
}

// jpegSize reads the size also of those JPEG files that only a browser can decode: Go's decoder knows neither
// arithmetic coding nor 12 bits.
func jpegSize(data []byte) (fileSize, error) {
	for at := 2; at+4 <= len(data); {
		if data[at] != 0xff {
			break
		}
		marker := data[at+1]
		// Like Go's decoder, which must not find another size than the one that was checked: it takes no
		// length after 0xff 0x00.
		// a fill byte, or a marker without a segment
		if marker == 0xff || marker <= 0x01 || marker >= 0xd0 && marker <= 0xd7 {
			at++
			if marker != 0xff {
				at++
			}
			continue
		}
		segment := int(binary.BigEndian.Uint16(data[at+2:]))
		frame := marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc
		if frame && at+9 <= len(data) {
			s := fileSize{
				width:  int(binary.BigEndian.Uint16(data[at+7:])),
				height: int(binary.BigEndian.Uint16(data[at+5:])), bytes: 4,
			}
			if marker == 0xc2 {
				s.bytes = 16 // a progressive picture is kept as coefficients first
			}
			return s, nil
		}
		if segment < 2 || marker == 0xda {
			break
		}
		at += 2 + segment
	}
	return fileSize{}, fmt.Errorf("%w: no size", ErrCorrupt)
}

// avifSize reads the size of the first picture that has one.
func avifSize(data []byte) (fileSize, error) {
	const head = 4096 // where it is found in files of all encoders
	at := bytes.Index(data[:min(len(data), head)], []byte("ispe"))
	if at < 0 || at+16 > len(data) {
		return fileSize{}, fmt.Errorf("%w: no size", ErrCorrupt)
	}
	width, height := binary.BigEndian.Uint32(data[at+8:]), binary.BigEndian.Uint32(data[at+12:])
	if width > maxPixels || height > maxPixels {
		return fileSize{}, checkSize(int64(width), int64(height), 1)
	}
	return fileSize{width: int(width), height: int(height), bytes: 4}, nil
}
