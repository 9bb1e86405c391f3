// Package viewbag makes a bag for tests of viewers: a topic for each encoding of images and for each type
// with a simple picture, what hostile messages try, and the pixels that have to be seen.
package viewbag

import (
	"fmt"
	"image/color"
	"os"
	"strings"
	"testing"

	"github.com/aler9/goroslib/pkg/msgs/sensor_msgs"
	"github.com/aler9/goroslib/pkg/msgs/std_msgs"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/testkit/rosmade"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Width and Height are those of the pictures in pixels, which have four quarters of one color each.
const (
	Width  = 16
	Height = 8
)

// Quarters are the colors of a picture: upper left and right, lower left and right.
type Quarters [4]color.RGBA

// Picture is a topic with one picture, and what has to be seen.
type Picture struct {
	Topic  string
	Width  int // of what is shown
	Height int
	Want   Quarters
	Off    int    // how far a channel of a pixel may be from that
	Error  string // a part of the error that is shown instead
}

// Script is a text that a page must not run. Many texts of the bag are this one.
const Script = `<img src=x onerror="document.title='hacked'">`

// start is the time of the first message.
var start = rosbag.Time{Sec: 1_700_000_000}

// Seconds is how long the bag is.
const Seconds = 10

// message is a message that will be written.
type message struct {
	topic  string
	at     float64 // seconds from the start
	caller string
	latch  bool
	msg    any // of goroslib, or made
}

// made is a message of a type that goroslib lacks.
type made struct {
	typ, definition string
	payload         []byte
}

// Write writes the bag, and returns what has to be seen.
func Write(tb testing.TB, path string) []Picture {
	tb.Helper()
	pictures, messages := images()
	messages = append(append(messages, scenes()...), cameras()...)
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{ChunkBytes: 64 << 10})
	if err != nil {
		tb.Fatal(err)
	}
	type publisher struct{ topic, caller string }
	conns := make(map[publisher]*rosbag.Connection)
	for _, m := range byTime(messages) {
		header, payload := m.encode(tb)
		p := publisher{m.topic, m.caller}
		if conns[p] == nil {
			if conns[p], err = w.AddConnection(m.topic, header); err != nil {
				tb.Fatal(err)
			}
		}
		if err := w.Write(conns[p], start.Add(seconds(m.at)), payload); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
	return pictures
}

func (m message) encode(tb testing.TB) (rosbag.Header, []byte) {
	tb.Helper()
	caller := m.caller
	if caller == "" {
		caller = "/maker"
	}
	latching := "0"
	if m.latch {
		latching = "1"
	}
	head := rosbag.Header{
		{Key: "callerid", Value: caller},
		{Key: "latching", Value: latching},
		{Key: "topic", Value: m.topic},
	}
	if x, ok := m.msg.(made); ok {
		return append(head, rosbag.Header{
			{Key: "md5sum", Value: strings.Repeat("0", 32)},
			{Key: "message_definition", Value: x.definition},
			{Key: "type", Value: x.typ},
		}...), x.payload
	}
	return append(head, rosmade.Header(tb, m.msg)...), rosmade.Payload(tb, m.msg)
}

// tree is a message of 64 levels: each is a message with a text and the next level.
func tree() made {
	const levels = 64
	var b strings.Builder
	var payload []byte
	for i := 1; i < levels; i++ {
		if i > 1 {
			fmt.Fprintf(&b, "%s\nMSG: deep_msgs/L%d\n", strings.Repeat("=", 80), i)
		}
		fmt.Fprintf(&b, "uint8 n\ndeep_msgs/L%d next\n", i+1)
		payload = append(payload, byte(i))
	}
	fmt.Fprintf(&b, "%s\nMSG: deep_msgs/L%d\nuint8 n\n", strings.Repeat("=", 80), levels)
	return made{"deep_msgs/L1", b.String(), append(payload, levels)}
}

func imageHeader() std_msgs.Header { return std_msgs.Header{FrameId: "camera"} }

// raw makes a message of the bytes of a pixel in each quarter.
func raw(encoding string, quarters [4][]byte) sensor_msgs.Image {
	m := sensor_msgs.Image{
		Header: imageHeader(), Encoding: encoding, Width: Width, Height: Height,
		Step: uint32(Width * len(quarters[0])),
	}
	for y := range Height {
		for x := range Width {
			m.Data = append(m.Data, quarters[quarter(x, y)]...)
		}
	}
	return m
}

// quarter returns the number of the quarter of a pixel.
func quarter(x, y int) int { return x*2/Width + y*2/Height*2 }
