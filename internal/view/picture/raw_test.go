package picture_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/color"
	"strings"
	"testing"

	"github.com/aler9/goroslib/pkg/msgs/sensor_msgs"

	"github.com/gorosbag/gorosbag/internal/testkit/rosmade"
	"github.com/gorosbag/gorosbag/internal/view/picture"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// raw returns a message with a picture. Its data is hexadecimal, and its step the width times bytes.
func raw(encoding string, width, height, bytes int, data string) sensor_msgs.Image {
	return sensor_msgs.Image{Encoding: encoding, Width: uint32(width), Height: uint32(height), Step: uint32(width * bytes), Data: unhex(data)}
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

func bigEndian(m sensor_msgs.Image) sensor_msgs.Image {
	m.IsBigendian = 1
	return m
}

func withStep(step uint32, m sensor_msgs.Image) sensor_msgs.Image {
	m.Step = step
	return m
}

// show makes the picture of a message.
func show(tb testing.TB, msg any, o picture.Options) (*picture.Picture, error) {
	tb.Helper()
	r := picture.For(rosmade.Type(tb, msg))
	if r == nil {
		tb.Fatalf("%T is no picture", msg)
	}
	return r.Picture(rosmade.Payload(tb, msg), o)
}

// pixels returns the pixels of a picture in hexadecimal, rows separated by a slash: two digits for gray, six
// for colors.
func pixels(img image.Image) string {
	var rows []string
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		var row []string
		for x := b.Min.X; x < b.Max.X; x++ {
			if g, ok := img.At(x, y).(color.Gray); ok {
				row = append(row, fmt.Sprintf("%02x", g.Y))
				continue
			}
			c := color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
			row = append(row, fmt.Sprintf("%02x%02x%02x", c.R, c.G, c.B))
		}
		rows = append(rows, strings.Join(row, " "))
	}
	return strings.Join(rows, "/")
}

const (
	half = "half the size: one pixel of each block of the Bayer pattern"
	// One, two, and minus one as floats, NaN and infinity.
	f1, f2, fMinus, fNaN, fInf = "0000803f", "00000040", "000080bf", "0000c07f", "0000807f"
)

func TestRawEncodings(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		msg   sensor_msgs.Image
		want  string
		rng   string
		notes string
	}{
		{msg: raw("rgb8", 2, 1, 3, "010203 040506"), want: "010203 040506"},
		{msg: raw("bgr8", 2, 1, 3, "010203 040506"), want: "030201 060504"},
		{msg: raw("rgba8", 1, 2, 4, "01020300 04050600"), want: "010203/040506"},
		{msg: raw("bgra8", 1, 2, 4, "01020300 040506ff"), want: "030201/060504"},
		{msg: raw("8UC3", 1, 1, 3, "010203"), want: "030201"},
		{msg: raw("CV_8UC3", 1, 1, 3, "010203"), want: "030201"},
		{msg: raw("8UC4", 1, 1, 4, "01020304"), want: "030201"},
		{msg: raw("rgb16", 1, 1, 6, "0001 0002 0003"), want: "010203"},
		{msg: bigEndian(raw("rgb16", 1, 1, 6, "0100 0200 0300")), want: "010203"},
		{msg: raw("bgr16", 1, 1, 6, "0001 0002 0003"), want: "030201"},
		{msg: raw("rgba16", 1, 1, 8, "0001 0002 0003 0000"), want: "010203"},
		{msg: bigEndian(raw("bgra16", 1, 1, 8, "0100 0200 0300 0000")), want: "030201"},

		{msg: raw("mono8", 2, 2, 1, "0102 0304"), want: "01 02/03 04"},
		{msg: raw("8UC1", 2, 1, 1, "00ff"), want: "00 ff"},
		{msg: raw("8UC", 2, 1, 1, "00ff"), want: "00 ff"},
		{msg: raw("mono16", 2, 1, 2, "ff00 0080"), want: "00 80"},
		{msg: bigEndian(raw("mono16", 2, 1, 2, "ff00 0080")), want: "ff 00"},
		{msg: raw("mono16", 3, 1, 2, "0000 ff01 ff03"), want: "00 7f ff", notes: "stretched from 0 to 1023 of 65535"},
		{msg: raw("mono16", 1, 1, 2, "ff0f"), want: "ff", notes: "stretched from 4095 to 4095 of 65535"},

		{msg: raw("16UC1", 4, 1, 2, "0000 e803 d007 b80b"), want: "00 01 80 ff", rng: "1000 to 3000 mm"},
		{msg: bigEndian(raw("16UC1", 2, 1, 2, "03e8 07d0")), want: "01 ff", rng: "1000 to 2000 mm"},
		{msg: raw("16UC1", 2, 1, 2, "0000 0000"), want: "00 00", notes: "no pixel has a value"},
		{msg: raw("32FC1", 5, 1, 4, f1+f2+fMinus+fNaN+fInf), want: "01 ff 00 00 00", rng: "1 to 2 m"},
		{msg: raw("32FC", 1, 1, 4, f1), want: "ff", rng: "1 to 1 m"},

		{msg: raw("8SC1", 3, 1, 1, "80 00 7f"), want: "01 80 ff", rng: "-128 to 127"},
		{msg: raw("16SC1", 2, 1, 2, "ffff 0100"), want: "01 ff", rng: "-1 to 1"},
		{msg: raw("32SC1", 2, 1, 4, "feffffff 02000000"), want: "01 ff", rng: "-2 to 2"},
		{msg: raw("64FC1", 3, 1, 8, "000000000000f0bf 000000000000f03f 000000000000f87f"), want: "01 ff 00", rng: "-1 to 1"},
		{msg: raw("64FC1", 2, 1, 8, "ffffffffffffefff ffffffffffffef7f"), want: "01 ff", rng: "-1.798e+308 to 1.798e+308"},
		{msg: raw("32FC2", 2, 1, 8, f1+f2+f2+f1), want: "01 ff", rng: "1 to 2", notes: "the first of 2 channels"},
		{msg: raw("16UC3", 2, 1, 6, "0100 0900 0900 0300 0900 0900"), want: "01 ff", rng: "1 to 3", notes: "the first of 3 channels"},
		{msg: raw("8UC5", 2, 1, 5, "0000000000 0100000000"), want: "01 ff", rng: "0 to 1", notes: "the first of 5 channels"},

		// Red 10, greens 20 and 31, blue 40.
		{msg: raw("bayer_rggb8", 2, 2, 1, "1020 3140"), want: "102940", notes: half},
		{msg: raw("bayer_bggr8", 2, 2, 1, "4020 3110"), want: "102940", notes: half},
		{msg: raw("bayer_grbg8", 2, 2, 1, "2010 4031"), want: "102940", notes: half},
		{msg: raw("bayer_gbrg8", 2, 2, 1, "2040 1031"), want: "102940", notes: half},
		{msg: raw("bayer_rggb16", 2, 2, 2, "0010 0020 0031 0040"), want: "102940", notes: half},
		{msg: bigEndian(raw("bayer_bggr16", 2, 2, 2, "4000 2000 3100 1000")), want: "102940", notes: half},
		{msg: raw("bayer_grbg16", 2, 2, 2, "0000 ff03 ff03 0000"), want: "ff00ff", notes: "stretched from 0 to 1023 of 65535; " + half},
		{msg: raw("bayer_gbrg8", 3, 3, 1, "204099 103199 999999"), want: "102940", notes: half},

		{msg: raw("yuv422", 2, 1, 2, "80108090"), want: "101010 909090"},
		{msg: raw("uyvy", 2, 1, 2, "80108090"), want: "101010 909090"},
		{msg: raw("yuyv", 2, 1, 2, "10809080"), want: "101010 909090"},
		// Red: Y 0x4c, U 0x54, V 0xff.
		{msg: raw("yuv422_yuy2", 2, 1, 2, "4c544cff"), want: "fe0000 fe0000"},
		{msg: raw("uyvy", 2, 1, 2, "544cff4c"), want: "fe0000 fe0000"},
		{msg: raw("yuyv", 3, 1, 2, "108090802080"), want: "101010 909090 202020"},
		{msg: raw("nv21", 2, 2, 1, "4c4c 4c4c ff54"), want: "fe0000 fe0000/fe0000 fe0000"},
		{msg: raw("nv21", 3, 3, 1, "101010 101010 101010 80808080 80808080"), want: "101010 101010 101010/101010 101010 101010/101010 101010 101010"},
		{msg: withStep(4, raw("nv21", 2, 2, 1, "4c4cffff 4c4cffff ff54ffff")), want: "fe0000 fe0000/fe0000 fe0000"},
		{msg: raw("nv24", 2, 1, 1, "4c10 54ff 8080"), want: "fe0000 101010"},

		{msg: withStep(4, raw("rgb8", 1, 2, 3, "010203ee 040506")), want: "010203/040506"},
		{msg: raw("rgb8", 1, 1, 3, "010203 ffff"), want: "010203"},
		{msg: raw("rgb8", 2, 2, 3, "010203 040506 070809"), want: "010203 040506/070809 000000", notes: "the last row is short by 3 bytes"},
	} {
		t.Run(fmt.Sprintf("%s big=%d %dx%d", tc.msg.Encoding, tc.msg.IsBigendian, tc.msg.Width, tc.msg.Height), func(t *testing.T) {
			t.Parallel()
			p, err := show(t, tc.msg, picture.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := pixels(p.Image); got != tc.want {
				t.Errorf("pixels %s, want %s", got, tc.want)
			}
			rng := ""
			if p.Range != nil {
				rng = p.Range.String()
			}
			if notes := strings.Join(p.Notes, "; "); rng != tc.rng || notes != tc.notes {
				t.Errorf("range %q, notes %q, want %q and %q", rng, notes, tc.rng, tc.notes)
			}
			if p.Width != int(tc.msg.Width) || p.Height != int(tc.msg.Height) || p.Encoding != tc.msg.Encoding {
				t.Errorf("%d x %d %s", p.Width, p.Height, p.Encoding)
			}
		})
	}
}

func TestRawErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		msg  sensor_msgs.Image
		want error
		text string
	}{
		{raw("rgb8", 2, 0, 3, ""), nil, "picture of 2 x 0 pixels: there is nothing to show"},
		{raw("rgb8", 65535, 65535, 3, "00"), picture.ErrLimit, "picture of 65535 x 65535 pixels, more than 64 million: too large to be shown"},
		{raw("64FC4", 8000, 2000, 32, "00"), picture.ErrLimit, "picture of 8000 x 2000 pixels of 32 bytes, more than 256 MiB: too large to be shown"},
		{withStep(1<<32-1, raw("mono8", 1<<16, 1<<10, 1, "00")), picture.ErrCorrupt, "mono8 of 65536 x 1024 pixels: 1 bytes of data, which need 4393751608321: damaged picture"},
		{withStep(5, raw("rgb8", 2, 1, 3, "010203040506")), picture.ErrCorrupt, "rgb8 of 2 x 1 pixels: rows of 5 bytes, which need 6: damaged picture"},
		{raw("mono8", 2, 2, 1, ""), picture.ErrCorrupt, "mono8 of 2 x 2 pixels: 0 bytes of data, which need 4: damaged picture"},
		{raw("mono8", 2, 3, 1, "010203"), picture.ErrCorrupt, "mono8 of 2 x 3 pixels: 3 bytes of data, which need 6: damaged picture"},
		{raw("nv21", 2, 2, 1, "01020304"), picture.ErrCorrupt, "nv21 of 2 x 2 pixels: 4 bytes of data, which need 6: damaged picture"},
		{raw("bayer_rggb8", 1, 2, 1, "0102"), nil, "bayer_rggb8 of 1 x 2 pixels: less than one block of 2 x 2"},
		{raw("8UC0", 1, 1, 1, "00"), picture.ErrUnknown, `encoding "8UC0" of 1 x 1 pixels, 1 bytes a row, cannot be shown`},
		{raw("\x00\u0080\u202ergb9\xff", 1, 1, 1, "00"), picture.ErrUnknown, `encoding "rgb9" of 1 x 1 pixels, 1 bytes a row, cannot be shown`},
		{raw("<b>"+strings.Repeat("x", 99)+"\n", 1, 1, 1, "00"), picture.ErrUnknown, `encoding "<b>` + strings.Repeat("x", 61) + `…" of 1 x 1 pixels, 1 bytes a row, cannot be shown`},
	} {
		p, err := show(t, tc.msg, picture.Options{})
		if p != nil || err == nil || err.Error() != tc.text || tc.want != nil && !errors.Is(err, tc.want) {
			t.Errorf("%v, %v, want %s", p, err, tc.text)
		}
	}
}

// TestCutPayloads: a payload that ends anywhere is an error of rosmsg or of the picture.
func TestCutPayloads(t *testing.T) {
	t.Parallel()
	msg := raw("rgb8", 2, 2, 3, "010203 040506 070809 0a0b0c")
	r := picture.For(rosmade.Type(t, msg))
	full := rosmade.Payload(t, msg)
	for i := range full {
		if _, err := r.Picture(full[:i:i], picture.Options{}); !errors.Is(err, rosmsg.ErrCorrupt) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	mono := raw("mono8", 4, 2, 1, "00102030 40506070")
	rgb := raw("rgb8", 2, 2, 3, "000000 000000 ff8000 ff8001")
	depth := raw("16UC1", 4, 2, 2, "0000 0100 0200 0300 0300 0300 0300 0300")
	for name, tc := range map[string]struct {
		msg  sensor_msgs.Image
		o    picture.Options
		want string
	}{
		"half":                    {mono, picture.Options{Width: 2}, "28 48"},
		"one pixel":               {mono, picture.Options{Height: 1, Width: 1}, "38"},
		"never enlarged":          {mono, picture.Options{Width: 400, Height: 400}, "00 10 20 30/40 50 60 70"},
		"keeps its shape":         {mono, picture.Options{Width: 3, Height: 1}, "28 48"},
		"colors":                  {rgb, picture.Options{Width: 1}, "804000"},
		"values are never mixed":  {depth, picture.Options{Width: 2}, "00 80"},
		"range":                   {depth, picture.Options{Min: 1, Max: 2}, "00 01 ff ff/ff ff ff ff"},
		"no range":                {depth, picture.Options{Min: 2, Max: 2}, "00 01 80 ff/ff ff ff ff"},
		"rainbow":                 {depth, picture.Options{Colors: true}, "000000 0000ff 00ff00 ff0000/ff0000 ff0000 ff0000 ff0000"},
		"labels":                  {raw("8UC1", 3, 1, 1, "000102"), picture.Options{Labels: true}, "000000 0034b3 437300"},
		"labels are never a mean": {raw("8UC1", 2, 1, 1, "0001"), picture.Options{Labels: true, Width: 1}, "000000"},
	} {
		p, err := show(t, tc.msg, tc.o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := pixels(p.Image); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
