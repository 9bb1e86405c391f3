package picture_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/aler9/goroslib/pkg/msgs/sensor_msgs"
	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"github.com/gorosbag/gorosbag/internal/view/picture"
	"github.com/gorosbag/gorosbag/rosmsg"
)

func compressed(format string, data []byte) sensor_msgs.CompressedImage {
	return sensor_msgs.CompressedImage{Format: format, Data: data}
}

// fourColors is red and green above blue and a dark color.
func fourColors() *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, 2, 2))
	copy(img.Pix, unhex("ff0000ff 00ff00ff 0000ffff 102030ff"))
	return img
}

const fourPixels = "ff0000 00ff00/0000ff 102030"

// webpFile is fourColors as WebP without loss.
const webpFile = "52494646 36000000 57454250 5650384c 29000000 2f0140 00001f201020acf89f726243209084b0bfe40a0212228ffc5fe191f90f7c3075f0038488fe8700"

func gray16(width int, values ...uint16) *image.Gray16 {
	img := image.NewGray16(image.Rect(0, 0, width, len(values)/width))
	for i, v := range values {
		img.SetGray16(i%width, i/width, color.Gray16{Y: v})
	}
	return img
}

func solid(width, height int, level uint8) *image.Gray {
	img := image.NewGray(image.Rect(0, 0, width, height))
	for i := range img.Pix {
		img.Pix[i] = level
	}
	return img
}

// file encodes an image.
func file(tb testing.TB, mediaType string, img image.Image) []byte {
	tb.Helper()
	var b bytes.Buffer
	var err error
	switch mediaType {
	case "image/png":
		err = png.Encode(&b, img)
	case "image/jpeg":
		err = jpeg.Encode(&b, img, nil)
	case "image/bmp":
		err = bmp.Encode(&b, img)
	case "image/gif":
		err = gif.Encode(&b, img, nil)
	case "image/tiff":
		err = tiff.Encode(&b, img, nil)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// TestPassedOn: what a browser decodes goes there as it is, whatever the format says.
func TestPassedOn(t *testing.T) {
	t.Parallel()
	ispe := "00000000 66747970 61766966 00000000 00000014 69737065 00000000 00000280 000001e0"
	for _, tc := range []struct {
		format, mediaType string
		data              []byte
		width, height     int
	}{
		{"rgb8; jpeg compressed bgr8", "image/jpeg", file(t, "image/jpeg", solid(16, 8, 7)), 16, 8},
		{"png", "image/jpeg", file(t, "image/jpeg", solid(16, 8, 7)), 16, 8},
		{"jpeg", "image/png", file(t, "image/png", fourColors()), 2, 2},
		{"", "image/webp", unhex(webpFile), 2, 2},
		{"", "image/gif", file(t, "image/gif", fourColors()), 2, 2},
		{"", "image/bmp", file(t, "image/bmp", fourColors()), 2, 2},
		{"", "image/avif", unhex(ispe), 640, 480},
		// Arithmetic coding, with a fill byte, a segment and a marker without one before the size.
		{"", "image/jpeg", unhex("ffd8 ffff fffe0003aa ff01 ffc9 000b 08 0010 0020 01 011100 00"), 32, 16},
	} {
		p, err := show(t, compressed(tc.format, tc.data), picture.Options{Width: 640, Height: 640})
		if err != nil {
			t.Errorf("%s: %v", tc.mediaType, err)
			continue
		}
		data, mediaType, err := p.Encode(false)
		if mediaType != tc.mediaType || !bytes.Equal(data, tc.data) || p.Width != tc.width || p.Height != tc.height || p.Encoding != tc.format || err != nil {
			t.Errorf("%s of %d x %d pixels, %q, %v; want %s of %d x %d", mediaType, p.Width, p.Height, p.Encoding, err, tc.mediaType, tc.width, tc.height)
		}
	}
}

func TestDecoded(t *testing.T) {
	t.Parallel()
	exact := picture.Options{Pixels: true}
	noAlpha := fourColors()
	noAlpha.Pix[3] = 1
	for name, tc := range map[string]struct {
		format string
		data   []byte
		o      picture.Options
		want   string
		rng    string
		notes  string
	}{
		"png":                  {"png", file(t, "image/png", fourColors()), exact, fourPixels, "", ""},
		"png without alpha":    {"png", file(t, "image/png", noAlpha), exact, fourPixels, "", ""},
		"webp":                 {"webp", unhex(webpFile), exact, fourPixels, "", ""},
		"gif":                  {"gif", file(t, "image/gif", fourColors()), exact, "ff0000 00ff00/0000ff 222222", "", ""},
		"bmp":                  {"bmp", file(t, "image/bmp", fourColors()), exact, fourPixels, "", ""},
		"tiff":                 {"tiff", file(t, "image/tiff", fourColors()), picture.Options{}, fourPixels, "", ""},
		"gray jpeg":            {"mono8; jpeg compressed ", file(t, "image/jpeg", solid(2, 1, 0x40)), exact, "40 40", "", ""},
		"smaller":              {"jpeg", file(t, "image/jpeg", solid(64, 32, 0x40)), picture.Options{Width: 2}, "40 40", "", ""},
		"labels":               {"8UC1; png compressed ", file(t, "image/png", solid(1, 1, 1)), picture.Options{Labels: true}, "0034b3", "", ""},
		"depth":                {"16UC1; png compressed ", file(t, "image/png", gray16(3, 0, 400, 800)), picture.Options{}, "00 01 ff", "400 to 800 mm", ""},
		"brightness":           {"mono16; png compressed ", file(t, "image/png", gray16(2, 0, 1023)), picture.Options{}, "00 ff", "", "stretched from 0 to 1023 of 65535"},
		"depth png":            {"16UC1; compressedDepth png", depthData(0, 0, file(t, "image/png", gray16(2, 1000, 2000))), picture.Options{}, "01 ff", "1000 to 2000 mm", ""},
		"depth, old format":    {"16UC1; compressedDepth", depthData(0, 0, file(t, "image/png", gray16(2, 1000, 2000))), picture.Options{}, "01 ff", "1000 to 2000 mm", ""},
		"depth, wrong format":  {"png", depthData(0, 0, file(t, "image/png", gray16(2, 1000, 2000))), picture.Options{}, "01 ff", "1000 to 2000 mm", ""},
		"depth rvl":            {"16UC1; compressedDepth rvl", depthData(0, 0, rvl(3, 0, 1000, 2000, 2000, 1500, 0)), picture.Options{}, "00 01 ff/ff 80 00", "1000 to 2000 mm", ""},
		"depth rvl, all zero":  {"16UC1; compressedDepth rvl", depthData(0, 0, rvl(2, 0, 0, 0, 0)), picture.Options{}, "00 00/00 00", "", "no pixel has a value"},
		"depth in meters":      {"32FC1; compressedDepth png", depthData(100, 50, file(t, "image/png", gray16(4, 0, 100, 75, 50))), picture.Options{}, "00 01 ff 00", "2 to 4 m", ""},
		"depth in meters, rvl": {"32FC1; compressedDepth rvl", depthData(100, 50, rvl(2, 100, 75)), picture.Options{}, "01 ff", "2 to 4 m", ""},
	} {
		p, err := show(t, compressed(tc.format, tc.data), tc.o)
		if err != nil || p.Image == nil {
			t.Errorf("%s: %v, %v", name, p, err)
			continue
		}
		rng := ""
		if p.Range != nil {
			rng = p.Range.String()
		}
		if got, notes := pixels(p.Image), strings.Join(p.Notes, "; "); got != tc.want || rng != tc.rng || notes != tc.notes {
			t.Errorf("%s: %s, range %q, notes %q, want %s, %q and %q", name, got, rng, notes, tc.want, tc.rng, tc.notes)
		}
	}
}

// depthData puts the head of compressed_depth_image_transport before a file.
func depthData(a, b float32, file []byte) []byte {
	head := binary.LittleEndian.AppendUint32([]byte{0, 0, 0, 0}, math.Float32bits(a))
	return append(binary.LittleEndian.AppendUint32(head, math.Float32bits(b)), file...)
}

// rvl encodes values as RVL, with its columns and rows before them.
func rvl(width int, values ...uint16) []byte {
	head := binary.LittleEndian.AppendUint32(nil, uint32(width))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(values)/width))
	return append(head, rvlCode(values)...)
}

func rvlCode(values []uint16) []byte {
	var nibbles []byte
	number := func(n int) {
		for {
			nibble := byte(n & 7)
			if n >>= 3; n == 0 {
				nibbles = append(nibbles, nibble)
				return
			}
			nibbles = append(nibbles, nibble|8)
		}
	}
	run := func(from int, zero bool) int {
		n := 0
		for from+n < len(values) && (values[from+n] == 0) == zero {
			n++
		}
		return n
	}
	var before int
	for at := 0; at < len(values); {
		zeros := run(at, true)
		more := run(at+zeros, false)
		number(zeros)
		number(more)
		at += zeros
		for range more {
			delta := int(values[at]) - before
			before = int(values[at])
			number(delta<<1 ^ delta>>63)
			at++
		}
	}
	for len(nibbles)%8 != 0 {
		nibbles = append(nibbles, 0)
	}
	var code []byte
	for i := 0; i < len(nibbles); i += 8 {
		var word uint32
		for _, n := range nibbles[i : i+8] {
			word = word<<4 | uint32(n)
		}
		code = binary.LittleEndian.AppendUint32(code, word)
	}
	return code
}

// TestRVLBytes decodes bytes that were written by hand: two zeros, then 3, 2 and 2.
func TestRVLBytes(t *testing.T) {
	t.Parallel()
	// The nibbles are 2 and 3 for the runs, 6 for +3, 1 for -1, and 0.
	data := depthData(0, 0, unhex("05000000 01000000 00006123"))
	p, err := show(t, compressed("16UC1; compressedDepth rvl", data), picture.Options{Min: 1, Max: 3})
	if err != nil {
		t.Fatal(err)
	}
	if got := pixels(p.Image); got != "00 00 ff 80 80" {
		t.Errorf("pixels %s", got)
	}
}

func TestCompressedErrors(t *testing.T) {
	t.Parallel()
	whole := file(t, "image/png", gray16(2, 1000, 2000))
	for name, tc := range map[string]struct {
		format string
		data   []byte
		o      picture.Options
		want   error
		text   string
	}{
		"nothing":                 {"jpeg", nil, picture.Options{}, picture.ErrUnknown, `format "jpeg", data that begins with : cannot be shown`},
		"unknown":                 {"jpeg\x1b[0m", []byte("hello, world"), picture.Options{}, picture.ErrUnknown, `format "jpeg[0m", data that begins with 68 65 6c 6c 6f 2c 20 77: cannot be shown`},
		"jpeg 2000":               {"jp2", []byte("\x00\x00\x00\x0cjP  \r\n\x87\n"), picture.Options{}, picture.ErrUnknown, "JPEG 2000: no browser shows it, and it cannot be shown here"},
		"png bomb":                {"png", pngHead(65535, 65535, 8), picture.Options{}, picture.ErrLimit, "PNG: picture of 65535 x 65535 pixels, more than 64 million: too large to be shown"},
		"jpeg bomb":               {"jpeg", unhex("ffd8 ffc0 0011 08 ffff ffff 03 012200 021101 031101"), picture.Options{}, picture.ErrLimit, "JPEG: picture of 65535 x 65535 pixels, more than 64 million: too large to be shown"},
		"jpeg bomb hidden":        {"jpeg", unhex("ffd8 ff00 0020 ffc0 000b 08 ffff ffff 01 011100" + strings.Repeat("00", 17) + "ffc0 000b 08 0008 0008 01 011100"), picture.Options{Pixels: true}, picture.ErrCorrupt, "JPEG: damaged picture: no size"},
		"jpeg without size":       {"jpeg", unhex("ffd8 ffda 0008 0000"), picture.Options{}, picture.ErrCorrupt, "JPEG: damaged picture: no size"},
		"jpeg ends":               {"jpeg", unhex("ffd8 ff"), picture.Options{}, picture.ErrCorrupt, "JPEG: damaged picture: no size"},
		"png of no pixels":        {"png", whole[:20], picture.Options{}, picture.ErrCorrupt, ""},
		"cut, and pixels wanted":  {"png", whole[:len(whole)-20], picture.Options{Pixels: true}, picture.ErrCorrupt, ""},
		"avif, and pixels wanted": {"avif", unhex("00000000 66747970 61766966 69737065 00000000 00000280 000001e0"), picture.Options{Pixels: true}, picture.ErrUnknown, "AVIF: it cannot be shown in another size"},
		"avif bomb":               {"avif", unhex("00000000 66747970 61766966 69737065 00000000 ffffffff 000001e0"), picture.Options{}, picture.ErrLimit, ""},
		"depth without data":      {"16UC1; compressedDepth png", make([]byte, 12), picture.Options{}, picture.ErrCorrupt, "16UC1; compressedDepth png: 12 bytes of data: damaged picture"},
		"depth png bomb":          {"16UC1; compressedDepth png", depthData(0, 0, pngHead(65535, 65535, 16)), picture.Options{}, picture.ErrLimit, ""},
		"depth png of colors":     {"16UC1; compressedDepth png", depthData(0, 0, file(t, "image/png", fourColors())), picture.Options{}, picture.ErrCorrupt, "16UC1; compressedDepth png: damaged picture: PNG without 16 bits of gray"},
		"rvl without a size":      {"16UC1; compressedDepth rvl", make([]byte, 16), picture.Options{}, picture.ErrCorrupt, "16UC1; compressedDepth rvl: damaged picture: RVL of 4 bytes"},
		"rvl bomb":                {"16UC1; compressedDepth rvl", depthData(0, 0, unhex("ffff0000 ffff0000 00000000")), picture.Options{}, picture.ErrLimit, ""},
		"rvl of 16 million":       {"16UC1; compressedDepth rvl", depthData(0, 0, unhex("00100000 00100000 00000000")), picture.Options{}, picture.ErrCorrupt, "16UC1; compressedDepth rvl: damaged picture: RVL of 4096 x 4096 pixels in 12 bytes"},
		"rvl with a long run":     {"16UC1; compressedDepth rvl", depthData(0, 0, unhex("02000000 01000000 00000003")), picture.Options{}, picture.ErrCorrupt, "16UC1; compressedDepth rvl: damaged picture: RVL ends or goes astray at pixel 0 of 2"},
		"rvl of empty runs":       {"16UC1; compressedDepth rvl", depthData(0, 0, unhex("02000000 01000000 00000000")), picture.Options{}, picture.ErrCorrupt, "16UC1; compressedDepth rvl: damaged picture: RVL ends or goes astray at pixel 0 of 2"},
		"rvl ends":                {"16UC1; compressedDepth rvl", depthData(0, 0, unhex("09000000 01000000 00ffff19")), picture.Options{}, picture.ErrCorrupt, ""},
	} {
		p, err := show(t, compressed(tc.format, tc.data), tc.o)
		if p != nil || err == nil || tc.text != "" && err.Error() != tc.text || tc.want != nil && !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, %v, want %s", name, p, err, tc.text)
		}
	}
}

// pngHead returns the head of a PNG of gray.
func pngHead(width, height uint32, bits byte) []byte {
	chunk := binary.BigEndian.AppendUint32([]byte("IHDR"), width)
	chunk = append(binary.BigEndian.AppendUint32(chunk, height), bits, 0, 0, 0, 0)
	head := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), chunk...)
	return binary.BigEndian.AppendUint32(head, crc32.ChecksumIEEE(chunk))
}

// TestDamagedIsPassedOn: a browser shows the part of a picture that is there.
func TestDamagedIsPassedOn(t *testing.T) {
	t.Parallel()
	whole := file(t, "image/jpeg", solid(64, 64, 9))
	data := whole[:len(whole)-4]
	p, err := show(t, compressed("jpeg", data), picture.Options{Width: 8})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(p.Encoded, data) || len(p.Notes) != 1 || !strings.HasPrefix(p.Notes[0], "shown as it is: damaged picture") {
		t.Errorf("%d bytes, notes %q", len(p.Encoded), p.Notes)
	}
}

// TestTooLargeToDecode: a progressive picture takes more memory while it is decoded than the limit.
func TestTooLargeToDecode(t *testing.T) {
	t.Parallel()
	data := unhex("ffd8 ffc2 0011 08 1f40 1f40 03 012200 021101 031101") // 8000 x 8000
	p, err := show(t, compressed("jpeg", data), picture.Options{Width: 320})
	if err != nil {
		t.Fatal(err)
	}
	if want := "shown as it is: picture of 8000 x 8000 pixels of 16 bytes, more than 256 MiB: too large to be shown"; fmt.Sprint(p.Notes) != "["+want+"]" {
		t.Errorf("notes %q, want %s", p.Notes, want)
	}
}

// TestTypes: which types have pictures.
func TestTypes(t *testing.T) {
	t.Parallel()
	const fields = "uint32 width\nuint32 height\nstring encoding\nuint32 step\nuint8[] data\n"
	for name, tc := range map[string]struct {
		definition string
		is         bool
	}{
		"our_msgs/Camera":               {fields, true},
		"our_msgs/Compressed":           {"string format\nuint8[] data\n", true},
		"stereo_msgs/DisparityImage":    {"float32 f\nsensor_msgs/Image image\n" + strings.Repeat("=", 80) + "\nMSG: sensor_msgs/Image\n" + fields, true},
		"theora_image_transport/Packet": {"uint8[] data\nint32 b_o_s\n", true},
		"our_msgs/Other":                {"uint32 width\nuint32 height\nstring encoding\nuint32 step\nuint16[] data\n", false},
		"our_msgs/Image":                {"uint8[] data\n", false},
		"our_msgs/Holder":               {"sensor_msgs/Image[] image\n" + strings.Repeat("=", 80) + "\nMSG: sensor_msgs/Image\n" + fields, false},
	} {
		typ, err := rosmsg.Parse(name, tc.definition)
		if err != nil {
			t.Fatal(err)
		}
		if r := picture.For(typ); (r != nil) != tc.is {
			t.Errorf("%s: %v", name, r)
		}
	}
}

// TestVideo: a packet of video is named, and not shown.
func TestVideo(t *testing.T) {
	t.Parallel()
	typ, err := rosmsg.Parse("theora_image_transport/Packet", "uint8[] data\n")
	if err != nil {
		t.Fatal(err)
	}
	_, err = picture.For(typ).Picture(nil, picture.Options{})
	want := "video packets of theora_image_transport/Packet (Theora): a frame depends on earlier ones and cannot be shown; Foxglove plays them"
	if !errors.Is(err, picture.ErrUnknown) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
