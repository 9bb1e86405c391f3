package view_test

import (
	"encoding/binary"
	"errors"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// imageDefinition is that of sensor_msgs/Image.
const imageDefinition = "std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\nuint32 step\nuint8[] data\n" +
	"================================================================================\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"

// image is a message of type sensor_msgs/Image.
func image(encoding string, width, height, step int, data []byte) []byte {
	number := func(b []byte, v int) []byte { return binary.LittleEndian.AppendUint32(b, uint32(v)) }
	b := number(make([]byte, 16), height)
	b = append(number(number(b, width), len(encoding)), encoding...)
	b = number(number(append(b, 0), step), len(data))
	return append(b, data...)
}

// images writes a bag with an image each second on a topic.
func images(t *testing.T, topic string, payloads ...[]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "images.bag")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.AddConnection(topic, rosbag.Header{
		{Key: "type", Value: "sensor_msgs/Image"}, {Key: "md5sum", Value: "060021388200f6f0f447d0fcd9c64743"}, {Key: "message_definition", Value: imageDefinition},
	})
	if err != nil {
		t.Fatal(err)
	}
	for n, payload := range payloads {
		if err := w.Write(c, rosbag.Time{Sec: 1000 + uint32(n)}, payload); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPictures: a picture is sent with what it is, and one that does not change is said to be frozen.
func TestPictures(t *testing.T) {
	t.Parallel()
	var all [][]byte
	for n := range 20 {
		data := make([]byte, 64*48)
		for i := range data {
			data[i] = byte(i*7 + min(n, 12)*13)
		}
		all = append(all, image("mono8", 64, 48, 64, data))
	}
	c := serve(t, images(t, "/camera", all...))
	a := c.Get("/api/v1/view/picture?topic=/camera&at=3")
	about, err := url.PathUnescape(a.Header.Get("View-Picture"))
	if err != nil || a.Status != 200 || a.Header.Get("Content-Type") != "image/png" || a.Header.Get("Cross-Origin-Resource-Policy") != "same-origin" || a.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Fatalf("status %d, %v, %v", a.Status, a.Header, err)
	}
	if p := decode[struct {
		Width, Height int
		Encoding      string
		At            float64
	}](t, about); p.Width != 64 || p.Height != 48 || p.Encoding != "mono8" || p.At != 3 {
		t.Errorf("%+v", p)
	}
	if p, err := png.Decode(strings.NewReader(a.Body)); err != nil || p.Bounds().Dx() != 64 {
		t.Errorf("%v", err)
	}
	type hints struct {
		Hints []struct {
			Word  string
			Since float64
		}
	}
	if h := decode[hints](t, ask(t, c, "hints", 200, "topic", "/camera", "at", "11")); len(h.Hints) != 0 {
		t.Errorf("a picture that is new: %+v", h)
	}
	if h := decode[hints](t, ask(t, c, "hints", 200, "topic", "/camera", "at", "19")); len(h.Hints) != 1 || h.Hints[0].Word != "frozen" || h.Hints[0].Since != 12 {
		t.Errorf("a picture that stays the same from 12 s on: %+v", h)
	}
	if small := c.Get("/api/v1/view/picture?topic=/camera&at=3&small=1"); small.Status != 200 {
		t.Errorf("a small picture: status %d", small.Status)
	}
	ask(t, c, "picture", 400, "topic", "/camera", "at", "3", "width", "5000")
	ask(t, c, "scene", 400, "topic", "/camera", "at", "3")
}

// TestHugePicture: a size that is only claimed is refused before anything is decoded.
func TestHugePicture(t *testing.T) {
	t.Parallel()
	c := serve(t, images(t, "/camera", image("rgb8", 65535, 65535, 3*65535, nil)))
	for _, name := range []string{"picture", "hints"} {
		if body := ask(t, c, name, 400, "topic", "/camera", "at", "0"); !strings.Contains(body, "too large") {
			t.Errorf("%s: %s", name, body)
		}
	}
}

// TestScenes asks for the scenes of the demo.
func TestScenes(t *testing.T) {
	t.Parallel()
	c := serve(t, demo)
	for topic, want := range map[string]string{
		"/scan": `"kind":"points"`, "/map": `"kind":"grid"`, "/odom": `"kind":"track"`, "/tf": `"base_link"`, "/tf_static": `"odom"`, "/diagnostics": `"discharging"`,
	} {
		for _, at := range []string{"0", "5", "9.9"} {
			body := ask(t, c, "scene", 200, "topic", topic, "at", at, "from", "0", "to", "10")
			if topic != "/diagnostics" || at != "0" {
				if !strings.Contains(body, want) {
					t.Errorf("%s at %s: %.300s", topic, at, body)
				}
			}
		}
	}
	ask(t, c, "scene", 400, "topic", "/imu/data", "at", "5")
	ask(t, c, "scene", 400, "topic", "/odom", "at", "5")
	ask(t, c, "scene", 404, "topic", "/none", "at", "5")
}

// TestDepth: the range of depth is told.
func TestDepth(t *testing.T) {
	t.Parallel()
	c := serve(t, images(t, "/depth", image("16UC1", 2, 1, 4, []byte{0xe8, 3, 0xd0, 7})))
	a := c.Get("/api/v1/view/picture?topic=/depth&at=0")
	about, err := url.PathUnescape(a.Header.Get("View-Picture"))
	if err != nil || a.Status != 200 || !strings.Contains(about, `"range":{"min":1000,"max":2000,"unit":"mm"}`) {
		t.Errorf("status %d, %s, %v", a.Status, about, err)
	}
}
