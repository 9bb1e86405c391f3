package viewbag

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
	"strings"

	"github.com/aler9/goroslib/pkg/msgs/sensor_msgs"
	"github.com/aler9/goroslib/pkg/msgs/stereo_msgs"
	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

var (
	// colored is red and green above blue and gray.
	colored = Quarters{{255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}, {128, 128, 128, 255}}
	// grays is four levels of brightness.
	grays = levels(16, 80, 160, 240)
	// measured is what is seen of nothing, 1000, 2000 and 3000 of a unit.
	measured = levels(0, 1, 128, 255)
)

func levels(values ...uint8) (q Quarters) {
	for i, v := range values {
		q[i] = color.RGBA{v, v, v, 255}
	}
	return q
}

// each makes the bytes of each quarter.
func each(q Quarters, pixel func(c color.RGBA) []byte) (all [4][]byte) {
	for i, c := range q {
		all[i] = pixel(c)
	}
	return all
}

// little and big write 16-bit words whose high bytes are given.
func little(high ...byte) (b []byte) {
	for _, h := range high {
		b = append(b, 0, h)
	}
	return b
}

func big(high ...byte) (b []byte) {
	for _, h := range high {
		b = append(b, h, 0)
	}
	return b
}

// numbers makes the four quarters of values.
func numbers[T any](values ...T) (all [4][]byte) {
	for i, v := range values {
		var b bytes.Buffer
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			panic(err) // a number fits
		}
		all[i] = b.Bytes()
	}
	return all
}

// images returns the topics with one picture each.
func images() (pictures []Picture, messages []message) {
	add := func(topic string, want Quarters, off int, msg any) {
		pictures = append(pictures, Picture{Topic: topic, Width: Width, Height: Height, Want: want, Off: off})
		messages = append(messages, message{topic: topic, msg: msg})
	}
	fails := func(topic, text string, msg any) {
		pictures = append(pictures, Picture{Topic: topic, Error: text})
		messages = append(messages, message{topic: topic, msg: msg})
	}
	for encoding, pixel := range map[string]func(c color.RGBA) []byte{
		"rgb8":   func(c color.RGBA) []byte { return []byte{c.R, c.G, c.B} },
		"bgr8":   func(c color.RGBA) []byte { return []byte{c.B, c.G, c.R} },
		"rgba8":  func(c color.RGBA) []byte { return []byte{c.R, c.G, c.B, 0} },
		"bgra8":  func(c color.RGBA) []byte { return []byte{c.B, c.G, c.R, 0} },
		"rgb16":  func(c color.RGBA) []byte { return little(c.R, c.G, c.B) },
		"bgr16":  func(c color.RGBA) []byte { return little(c.B, c.G, c.R) },
		"rgba16": func(c color.RGBA) []byte { return little(c.R, c.G, c.B, 0) },
		"bgra16": func(c color.RGBA) []byte { return little(c.B, c.G, c.R, 0) },
		"8UC3":   func(c color.RGBA) []byte { return []byte{c.B, c.G, c.R} },
		"8UC4":   func(c color.RGBA) []byte { return []byte{c.B, c.G, c.R, 0} },
	} {
		add("/raw/"+encoding, colored, 0, raw(encoding, each(colored, pixel)))
	}
	for encoding, pixel := range map[string]func(c color.RGBA) []byte{
		"mono8":  func(c color.RGBA) []byte { return []byte{c.R} },
		"8UC1":   func(c color.RGBA) []byte { return []byte{c.R} },
		"mono16": func(c color.RGBA) []byte { return little(c.R) },
	} {
		add("/raw/"+encoding, grays, 0, raw(encoding, each(grays, pixel)))
	}
	bigEndian := raw("rgb16", each(colored, func(c color.RGBA) []byte { return big(c.R, c.G, c.B) }))
	bigEndian.IsBigendian = 1
	add("/raw/rgb16_big_endian", colored, 0, bigEndian)
	nan, inf := math.NaN(), math.Inf(1)
	add("/raw/16UC1", measured, 0, raw("16UC1", numbers[uint16](0, 1000, 2000, 3000)))
	add("/raw/32FC1", measured, 0, raw("32FC1", numbers(float32(nan), 1, 2, 3)))
	add("/raw/64FC1", levels(1, 0, 128, 255), 0, raw("64FC1", numbers(1, inf, 2, 3)))
	add("/raw/16SC1", levels(1, 86, 170, 255), 0, raw("16SC1", numbers[int16](-1, 0, 1, 2)))
	add("/raw/32SC1", levels(1, 86, 170, 255), 0, raw("32SC1", numbers[int32](-1, 0, 1, 2)))
	add("/raw/8SC1", levels(1, 86, 170, 255), 0, raw("8SC1", numbers[int8](-1, 0, 1, 2)))
	add("/raw/32FC3", levels(1, 86, 170, 255), 0,
		raw("32FC3", numbers([3]float32{-1}, [3]float32{0}, [3]float32{1}, [3]float32{2})))
	disparity := stereo_msgs.DisparityImage{
		Header: imageHeader(),
		Image:  raw("32FC1", numbers(float32(nan), 1, 2, 3)),
	}
	add("/raw/disparity", measured, 0, disparity)
	addBayer(add)
	addYUV(add)
	addFiles(add, fails)

	huge := raw("rgb8", each(colored, func(color.RGBA) []byte { return []byte{0, 0, 0} }))
	huge.Width, huge.Height = 65535, 65535
	fails("/hostile/huge", "more than 64 million", huge)
	unknown := huge
	unknown.Width, unknown.Height, unknown.Encoding = Width, Height, Script
	fails("/hostile/encoding", "cannot be shown", unknown)
	for i := range pictures {
		switch p := &pictures[i]; {
		case strings.HasPrefix(p.Topic, "/raw/bayer_"):
			p.Width, p.Height = Width/2, Height/2
		case p.Topic == "/compressed/webp":
			p.Width, p.Height = 2, 2
		}
	}
	return pictures, messages
}

// addBayer adds the four patterns, with 8 and 16 bits.
func addBayer(add func(topic string, want Quarters, off int, msg any)) {
	for _, pattern := range []string{"rggb", "bggr", "gbrg", "grbg"} {
		m := sensor_msgs.Image{
			Header: imageHeader(), Encoding: "bayer_" + pattern + "8", Width: Width,
			Height: Height, Step: Width,
		}
		for y := range Height {
			for x := range Width {
				c := colored[quarter(x, y)]
				m.Data = append(m.Data, map[byte]byte{'r': c.R, 'g': c.G, 'b': c.B}[pattern[x%2+y%2*2]])
			}
		}
		add("/raw/"+m.Encoding, colored, 0, m)
		wide := m
		wide.Encoding, wide.Step, wide.Data = "bayer_"+pattern+"16", 2*Width, little(m.Data...)
		add("/raw/"+wide.Encoding, colored, 0, wide)
	}
}

// yuv returns the brightness and the differences of color, as ITU-R BT.601 has them with the full range.
func yuv(c color.RGBA) (y, u, v uint8) { return color.RGBToYCbCr(c.R, c.G, c.B) }

// addYUV adds packed pairs and planes.
func addYUV(add func(topic string, want Quarters, off int, msg any)) {
	const off = 3 // the factors have few digits
	for encoding, order := range map[string]string{
		"yuv422": "uyvy", "uyvy": "uyvy", "yuv422_yuy2": "yuyv",
		"yuyv": "yuyv",
	} {
		m := sensor_msgs.Image{
			Header: imageHeader(), Encoding: encoding, Width: Width, Height: Height,
			Step: 2 * Width,
		}
		for row := range Height {
			for x := 0; x < Width; x += 2 {
				y, u, v := yuv(colored[quarter(x, row)])
				if order == "uyvy" {
					m.Data = append(m.Data, u, y, v, y)
				} else {
					m.Data = append(m.Data, y, u, y, v)
				}
			}
		}
		add("/raw/"+encoding, colored, off, m)
	}
	for encoding, share := range map[string]int{"nv21": 2, "nv24": 1} {
		m := sensor_msgs.Image{
			Header: imageHeader(), Encoding: encoding, Width: Width, Height: Height,
			Step: Width,
		}
		var pairs []byte
		for row := range Height {
			for x := range Width {
				y, u, v := yuv(colored[quarter(x, row)])
				m.Data = append(m.Data, y)
				switch {
				case share == 1:
					pairs = append(pairs, u, v)
				case x%2 == 0 && row%2 == 0:
					pairs = append(pairs, v, u)
				}
			}
		}
		m.Data = append(m.Data, pairs...)
		add("/raw/"+encoding, colored, off, m)
	}
}

// webpFile has red and green above blue and 10 20 30, of one pixel each.
const webpFile = "5249464636000000574542505650384c290000002f01400000" +
	"1f201020acf89f726243209084b0bfe40a0212228ffc5fe191f90f7c3075f0038488fe8700"

// addFiles adds what transports of compressed images send.
func addFiles(add func(topic string, want Quarters, off int, msg any),
	fails func(topic, text string, msg any),
) {
	box := image.Rect(0, 0, Width, Height)
	rgb, gray, wide, depth := image.NewRGBA(box), image.NewGray(box), image.NewGray16(box),
		image.NewGray16(box)
	for y := range Height {
		for x := range Width {
			q := quarter(x, y)
			rgb.SetRGBA(x, y, colored[q])
			gray.SetGray(x, y, color.Gray{Y: grays[q].R})
			wide.SetGray16(x, y, color.Gray16{Y: uint16(grays[q].R) << 8})
			depth.SetGray16(x, y, color.Gray16{Y: uint16(1000 * q)})
		}
	}
	file := func(encode func(b *bytes.Buffer) error) []byte {
		var b bytes.Buffer
		if err := encode(&b); err != nil {
			panic(err) // a bytes.Buffer takes everything
		}
		return b.Bytes()
	}
	compressed := func(format string, data []byte) sensor_msgs.CompressedImage {
		return sensor_msgs.CompressedImage{Header: imageHeader(), Format: format, Data: data}
	}
	pngOf := func(img image.Image) []byte {
		return file(func(b *bytes.Buffer) error {
			return png.Encode(b,
				img)
		})
	}
	add("/compressed/jpeg", grays, 2,
		compressed("rgb8; jpeg compressed bgr8", file(func(b *bytes.Buffer) error {
			return jpeg.Encode(b, gray, &jpeg.Options{Quality: 100})
		})))
	add("/compressed/png", colored, 0, compressed("bgr8; png compressed bgr8", pngOf(rgb)))
	add("/compressed/wrong_format", colored, 0, compressed("rgb8; jpeg compressed bgr8", pngOf(rgb)))
	add("/compressed/png16", grays, 0, compressed("mono16; png compressed ", pngOf(wide)))
	add("/compressed/depth_as_png", measured, 0, compressed("16UC1; png compressed ", pngOf(depth)))
	add("/compressed/bmp", colored, 0,
		compressed("bmp", file(func(b *bytes.Buffer) error { return bmp.Encode(b, rgb) })))
	// its palette has no gray of 128, so that it dithers
	add("/compressed/gif", colored, 9,
		compressed("gif", file(func(b *bytes.Buffer) error { return gif.Encode(b, rgb, nil) })))
	add("/compressed/tiff", colored, 0,
		compressed("bgr8; tiff compressed bgr8",
			file(func(b *bytes.Buffer) error { return tiff.Encode(b, rgb, nil) })))
	head := make([]byte, 12)
	add("/compressed/depth_png", measured, 0,
		compressed("16UC1; compressedDepth png", append(bytes.Clone(head), pngOf(depth)...)))
	add("/compressed/depth_old", measured, 0,
		compressed("16UC1; compressedDepth", append(bytes.Clone(head), pngOf(depth)...)))
	add("/compressed/depth_rvl", measured, 0,
		compressed("16UC1; compressedDepth rvl", append(bytes.Clone(head), rvl(depth)...)))
	// In meters it is 3000 / v: 3, 1.5 and 1.
	inverse := binary.LittleEndian.AppendUint32(make([]byte, 4), math.Float32bits(3000))
	inverse = append(inverse, 0, 0, 0, 0)
	add("/compressed/depth_meters", levels(0, 255, 65, 1), 0,
		compressed("32FC1; compressedDepth png", append(inverse, pngOf(depth)...)))

	small, err := hex.DecodeString(webpFile)
	if err != nil {
		panic(err)
	}
	fails("/compressed/jpeg2000", "JPEG 2000", compressed("jp2", []byte("\x00\x00\x00\x0cjP  \r\n\x87\n")))
	fails("/compressed/nothing", "cannot be shown", compressed(Script, []byte("nothing")))
	fails("/compressed/theora", "Theora",
		made{
			"theora_image_transport/Packet",
			"uint8[] data\nint32 b_o_s\nint32 e_o_s\nint64 granulepos\nint64 packetno\n", make([]byte, 28),
		})
	add("/compressed/webp", Quarters{colored[0], colored[1], colored[2], {0x10, 0x20, 0x30, 255}}, 0,
		compressed("webp", small))
}

// rvl encodes depth as RVL, with a size before it: runs of one pixel at a time are enough.
func rvl(img *image.Gray16) []byte {
	var nibbles []byte
	number := func(n int) {
		for ; n > 7; n >>= 3 {
			nibbles = append(nibbles, byte(n&7|8))
		}
		nibbles = append(nibbles, byte(n))
	}
	before := 0
	for y := range Height {
		for x := range Width {
			v := int(img.Gray16At(x, y).Y)
			if v == 0 {
				number(1)
				number(0)
				continue
			}
			number(0)
			number(1)
			delta := v - before
			before = v
			number(delta<<1 ^ delta>>63)
		}
	}
	for len(nibbles)%8 != 0 {
		nibbles = append(nibbles, 0)
	}
	b := binary.LittleEndian.AppendUint32(nil, Width)
	b = binary.LittleEndian.AppendUint32(b, Height)
	for i := 0; i < len(nibbles); i += 8 {
		var word uint32
		for _, n := range nibbles[i : i+8] {
			word = word<<4 | uint32(n)
		}
		b = binary.LittleEndian.AppendUint32(b, word)
	}
	return b
}
