package picture_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/aler9/goroslib/pkg/msgs/sensor_msgs"

	"github.com/gorosbag/gorosbag/internal/testkit/rosmade"
	"github.com/gorosbag/gorosbag/internal/view/picture"
)

// checkPicture checks what is true of every picture, and that it can be encoded.
func checkPicture(t *testing.T, p *picture.Picture, err error, o picture.Options) {
	t.Helper()
	if err != nil {
		if p != nil || strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Fatalf("%v with error %q", p, err)
		}
		return
	}
	if p.Width <= 0 || p.Height <= 0 || (p.Image == nil) == (p.Encoded == nil) || (p.Encoded == nil) != (p.MediaType == "") {
		t.Fatalf("%+v", p)
	}
	if p.Image == nil {
		return
	}
	if b := p.Image.Bounds(); b.Dx() < 1 || b.Dy() < 1 || b.Dx() > o.Width || b.Dy() > o.Height {
		t.Fatalf("made %v for a box of %d x %d", b, o.Width, o.Height)
	}
	if _, _, err := p.Encode(true); err != nil {
		t.Fatal(err)
	}
	if p.Range != nil && !(p.Range.Min <= p.Range.Max) {
		t.Fatalf("range %v", p.Range)
	}
}

func FuzzRaw(f *testing.F) {
	for _, encoding := range []string{"rgb8", "bgra16", "mono16", "16UC1", "32FC1", "64FC1", "bayer_grbg16", "yuv422", "nv21", "nv24", "8UC5"} {
		f.Add(encoding, uint32(2), uint32(2), uint32(16), false, make([]byte, 64))
		f.Add(encoding, uint32(3), uint32(3), uint32(24), true, make([]byte, 64))
	}
	f.Add("rgb8", uint32(65535), uint32(65535), uint32(1<<31), true, []byte{1})
	r := picture.For(rosmade.Type(f, sensor_msgs.Image{}))
	f.Fuzz(func(t *testing.T, encoding string, width, height, step uint32, big bool, data []byte) {
		m := sensor_msgs.Image{Encoding: encoding, Width: width, Height: height, Step: step, Data: data}
		if big {
			m.IsBigendian = 1
		}
		o := picture.Options{Width: 16, Height: 16, Colors: big, Labels: big}
		p, err := r.Picture(rosmade.Payload(t, m), o)
		checkPicture(t, p, err, o)
	})
}

func FuzzCompressed(f *testing.F) {
	for _, mediaType := range []string{"image/png", "image/jpeg", "image/gif", "image/bmp", "image/tiff"} {
		f.Add("jpeg", file(f, mediaType, fourColors()))
	}
	f.Add("webp", unhex(webpFile))
	f.Add("avif", unhex("00000000 66747970 61766966 69737065 00000000 00000280 000001e0"))
	r := picture.For(rosmade.Type(f, sensor_msgs.CompressedImage{}))
	f.Fuzz(func(t *testing.T, format string, data []byte) {
		for _, o := range []picture.Options{{Width: 16, Height: 16, Pixels: true}, {Width: 16, Height: 16}} {
			p, err := r.Picture(rosmade.Payload(t, compressed(format, data)), o)
			checkPicture(t, p, err, o)
		}
	})
}

func FuzzDepth(f *testing.F) {
	f.Add("16UC1; compressedDepth png", file(f, "image/png", gray16(2, 1000, 2000)))
	f.Add("32FC1; compressedDepth rvl", rvl(3, 0, 1000, 2000, 2000, 1500, 0))
	r := picture.For(rosmade.Type(f, sensor_msgs.CompressedImage{}))
	f.Fuzz(func(t *testing.T, format string, data []byte) {
		o := picture.Options{Width: 16, Height: 16}
		p, err := r.Picture(rosmade.Payload(t, compressed(format+"compressedDepth", depthData(100, 50, data))), o)
		checkPicture(t, p, err, o)
	})
}

// FuzzRVL checks that what was encoded is decoded.
func FuzzRVL(f *testing.F) {
	f.Add([]byte{0, 0, 1, 0, 255, 255, 0, 0})
	r := picture.For(rosmade.Type(f, sensor_msgs.CompressedImage{}))
	f.Fuzz(func(t *testing.T, data []byte) {
		var values []uint16
		for i := 0; i+1 < len(data) && len(values) < 4096; i += 2 {
			values = append(values, uint16(data[i])<<8|uint16(data[i+1]))
		}
		if len(values) == 0 {
			return
		}
		o := picture.Options{Min: 0, Max: 1<<16 - 1}
		coded, err := r.Picture(rosmade.Payload(t, compressed("16UC1; compressedDepth rvl", depthData(0, 0, rvl(len(values), values...)))), o)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := r.Picture(rosmade.Payload(t, compressed("16UC1; compressedDepth png", depthData(0, 0, file(t, "image/png", gray16(len(values), values...))))), o)
		if err != nil {
			t.Fatal(err)
		}
		if pixels(coded.Image) != pixels(plain.Image) {
			t.Fatalf("%s, want %s", pixels(coded.Image), pixels(plain.Image))
		}
	})
}
