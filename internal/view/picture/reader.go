package picture

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"image"
	"image/jpeg"
	"image/png"
	"strings"
	"unicode"

	"github.com/gorosbag/gorosbag/internal/view/picture/internal/draw"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// Options say how large a picture is wanted, and how values become colors. The zero value shows the whole
// picture, each value as gray between the least and the greatest one.
type Options struct {
	// Width and Height are the box that the picture has to fit in, in pixels. It keeps its shape and is
	// never enlarged. Zero means as large as it is, at most 4096.
	Width, Height int
	// Min and Max are the range that is shown, in the unit of the picture's Range. Unless Min is less
	// than Max, it is that from the least to the greatest value in the picture.
	Min, Max float64
	// Colors shows values in the colors of the rainbow, from blue to red.
	Colors bool
	// Labels shows the numbers of 8UC1 and mono8 as colors that differ, for pictures of classes.
	Labels bool
	// Pixels decodes pictures that a browser could decode itself, so that Picture.Image is there.
	Pixels bool
}

// Picture is a picture of a message.
type Picture struct {
	// Width and Height are those of the message, in pixels.
	Width  int `json:"width"`
	Height int `json:"height"`
	// Encoding is how the message describes its pixels: any text, as "bgr8".
	Encoding string `json:"encoding"`
	// Range is which values are shown from black to white, if the picture is one of values.
	Range *draw.Range `json:"range,omitempty"`
	// Notes are what was done to the picture or is wrong with it, in words.
	Notes []string `json:"notes,omitempty"`

	// Image is what can be seen: an image.Gray or image.RGBA. It is nil if Encoded is there instead.
	Image image.Image `json:"-"`
	// Encoded is the picture as it is in the message, of type MediaType, for a browser to decode. It is
	// borrowed from the payload.
	Encoded   []byte `json:"-"`
	MediaType string `json:"-"`

	exact bool   // edges and values count, so that JPEG must not blur them
	bytes uint64 // hash of the picture in the message, if it was wanted for its figures
}

// Reader makes pictures of messages of one type. It never changes, and many goroutines may use it.
type Reader struct {
	typ    string
	form   form
	before string // the path to the picture, with its dot: empty, but for types that contain one
	data   *rosmsg.Path
	text   *rosmsg.Path // encoding, or format
	raw    *rawPaths
}

// form is how messages carry a picture.
type form uint8

const (
	formRaw form = iota
	formCompressed
	formVideo
)

// video names types whose pictures depend on earlier ones. No decoder for them exists here.
var video = map[string]string{
	"theora_image_transport/Packet":                  "Theora",
	"ffmpeg_image_transport_msgs/FFMPEGPacket":       "H.264 or H.265",
	"foxglove_msgs/CompressedVideo":                  "H.264, H.265, VP9 or AV1",
	"h264_image_transport_msgs/Packet":               "H.264",
	"x264_video_transport/x264VideoTransportPackets": "H.264",
}

// For returns what makes pictures of messages of a type: those with the fields of sensor_msgs/Image or
// sensor_msgs/CompressedImage, whatever their name is, or with an image of these as the field "image". It
// returns nil for other types.
func For(t *rosmsg.Type) *Reader {
	if _, ok := video[t.Name()]; ok {
		return &Reader{typ: t.Name(), form: formVideo}
	}
	for _, before := range []string{"", "image."} {
		r := &Reader{typ: t.Name(), before: before}
		if r.data = r.path(t, "data", "uint8[]"); r.data == nil {
			continue
		}
		if r.text = r.path(t, "format", "string"); r.text != nil {
			r.form = formCompressed
			return r
		}
		if r.raw = newRawPaths(r, t); r.raw != nil {
			return r
		}
	}
	return nil
}

// path returns the path to a field of the picture, or nil if there is none of that type.
func (r *Reader) path(t *rosmsg.Type, name, typ string) *rosmsg.Path {
	p, err := t.Path(r.before + name)
	if err != nil || p.Type() != typ {
		return nil
	}
	return p
}

// Picture makes the picture of a message. Options.Pixels apart, a picture that a browser can decode, and that
// fits into the box, is passed on as it is.
func (r *Reader) Picture(payload []byte, o Options) (*Picture, error) {
	p, err := r.picture(payload, o)
	if err == nil && o.Pixels {
		data, _ := r.data.Lookup(payload) // it was there just now
		p.bytes = maphash.Bytes(seed, data.Bytes())
	}
	return p, err
}

// seed is that of hashes of pictures.
var seed = maphash.MakeSeed()

func (r *Reader) picture(payload []byte, o Options) (*Picture, error) {
	switch r.form {
	case formVideo:
		return nil, fmt.Errorf("video packets of %s (%s): a frame depends on earlier ones and %w; Foxglove plays them", r.typ, video[r.typ], ErrUnknown)
	case formCompressed:
		return r.compressed(payload, o)
	case formRaw:
	}
	return r.rawPicture(payload, o)
}

// lookup returns the text that describes the picture, and its data.
func (r *Reader) lookup(payload []byte) (text string, data []byte, err error) {
	v, err := r.text.Lookup(payload)
	if err != nil {
		return "", nil, err
	}
	d, err := r.data.Lookup(payload)
	if err != nil {
		return "", nil, err
	}
	return shown(v.Bytes()), d.Bytes(), nil
}

// maxText is how much is shown of a text of a message, in bytes.
const maxText = 64

// shown returns a text of a message so that it can be shown: printable, and not long.
func shown(b []byte) string {
	s := strings.ToValidUTF8(string(b[:min(len(b), maxText)]), "")
	if len(b) > maxText {
		s += "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, s)
}

// quality is that of JPEG pictures: above it, they grow faster than they improve.
const quality = 80

// Encode returns the picture in a format of browsers, and its media type. Small pictures and those of values
// are PNG, which is exact; others are JPEG, which is smaller and faster, unless exact is wanted.
func (p *Picture) Encode(exact bool) (data []byte, mediaType string, err error) {
	if p.Image == nil {
		return p.Encoded, p.MediaType, nil
	}
	var b bytes.Buffer
	if exact || p.exact {
		err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, p.Image)
		return b.Bytes(), "image/png", err
	}
	err = jpeg.Encode(&b, p.Image, &jpeg.Options{Quality: quality})
	return b.Bytes(), "image/jpeg", err
}

// checkSize returns an error if a picture is too large, or has no pixels.
func checkSize(width, height, bytesPerPixel int64) error {
	switch {
	case width <= 0 || height <= 0:
		return fmt.Errorf("picture of %d x %d pixels: there is nothing to show", width, height)
	case width > maxPixels || height > maxPixels || width*height > maxPixels:
		return fmt.Errorf("picture of %d x %d pixels, more than %d million: %w", width, height, maxPixels>>20,
			ErrLimit)
	case width*height*bytesPerPixel > maxDecoded:
		return fmt.Errorf("picture of %d x %d pixels of %d bytes, more than %d MiB: %w", width, height,
			bytesPerPixel, maxDecoded>>20, ErrLimit)
	}
	return nil
}
