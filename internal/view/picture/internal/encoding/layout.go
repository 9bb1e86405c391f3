// Package encoding knows the encodings of raw images: what the bytes of their pixels mean.
package encoding

import (
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/internal/text/lazyre"
)

// Layout is what an encoding says of a pixel.
type Layout struct {
	kind kind
	// bytes of a channel
	depth int
	// of a pixel
	channels int
	// channels of red, green and blue; of Bayer: where red and blue are in the block, from 0 to 3
	order [3]int
	// of depth
	unit string
	// of values
	number numbers
}

// kind is what the channels of a pixel are.
type kind uint8

const (
	colors kind = iota
	brightness
	depth  // values, of which only those above 0 were measured
	values // any
	bayer
	yuvPacked // two pixels in four bytes
	yuvPlanes // brightness, then the two others interleaved
)

// numbers is the type of a channel.
type numbers uint8

const (
	unsigned numbers = iota
	signed
	floating
)

var (
	rgb = [3]int{0, 1, 2}
	bgr = [3]int{2, 1, 0}
)

// named are the encodings with a name of their own, of sensor_msgs/image_encodings.h in ROS 1 and ROS 2.
var named = map[string]Layout{
	"rgb8":   {kind: colors, depth: 1, channels: 3, order: rgb},
	"bgr8":   {kind: colors, depth: 1, channels: 3, order: bgr},
	"rgba8":  {kind: colors, depth: 1, channels: 4, order: rgb},
	"bgra8":  {kind: colors, depth: 1, channels: 4, order: bgr},
	"rgb16":  {kind: colors, depth: 2, channels: 3, order: rgb},
	"bgr16":  {kind: colors, depth: 2, channels: 3, order: bgr},
	"rgba16": {kind: colors, depth: 2, channels: 4, order: rgb},
	"bgra16": {kind: colors, depth: 2, channels: 4, order: bgr},
	"mono8":  {kind: brightness, depth: 1, channels: 1}, "mono16": {kind: brightness, depth: 2, channels: 1},

	"bayer_rggb8":  {kind: bayer, depth: 1, channels: 1, order: [3]int{0, 0, 3}},
	"bayer_bggr8":  {kind: bayer, depth: 1, channels: 1, order: [3]int{3, 0, 0}},
	"bayer_grbg8":  {kind: bayer, depth: 1, channels: 1, order: [3]int{1, 0, 2}},
	"bayer_gbrg8":  {kind: bayer, depth: 1, channels: 1, order: [3]int{2, 0, 1}},
	"bayer_rggb16": {kind: bayer, depth: 2, channels: 1, order: [3]int{0, 0, 3}},
	"bayer_bggr16": {kind: bayer, depth: 2, channels: 1, order: [3]int{3, 0, 0}},
	"bayer_grbg16": {kind: bayer, depth: 2, channels: 1, order: [3]int{1, 0, 2}},
	"bayer_gbrg16": {kind: bayer, depth: 2, channels: 1, order: [3]int{2, 0, 1}},

	// The order is that of the first brightness, U and V in four bytes.
	"yuv422":      {kind: yuvPacked, depth: 1, channels: 2, order: [3]int{1, 0, 2}},
	"uyvy":        {kind: yuvPacked, depth: 1, channels: 2, order: [3]int{1, 0, 2}},
	"yuv422_yuy2": {kind: yuvPacked, depth: 1, channels: 2, order: [3]int{0, 1, 3}},
	"yuyv":        {kind: yuvPacked, depth: 1, channels: 2, order: [3]int{0, 1, 3}},
	// The order is where U and V are in a pair, and how many pixels in each direction share it.
	"nv21": {kind: yuvPlanes, depth: 1, channels: 1, order: [3]int{1, 0, 2}},
	"nv24": {kind: yuvPlanes, depth: 1, channels: 1, order: [3]int{0, 1, 1}},

	"8UC1":  {kind: brightness, depth: 1, channels: 1},
	"8UC3":  {kind: colors, depth: 1, channels: 3, order: bgr},
	"8UC4":  {kind: colors, depth: 1, channels: 4, order: bgr},
	"16UC1": {kind: depth, depth: 2, channels: 1, unit: "mm"},
	"32FC1": {kind: depth, depth: 4, channels: 1, unit: "m", number: floating},
}

// general is the form of all other names, which are those of OpenCV: bits, type and channels.
var general = lazyre.New(`^(?:CV_)?(8U|8S|16U|16S|32S|32F|64F)C?([0-9]{0,2})$`)

// Of returns the layout of an encoding; known is false if it is none that can be shown.
func Of(encoding string) (l Layout, known bool) {
	if l, known = named[strings.ToLower(encoding)]; known {
		return l, true
	}
	m := general().FindStringSubmatch(strings.ToUpper(encoding))
	if m == nil {
		return Layout{}, false
	}
	channels := 1
	if m[2] != "" {
		channels, _ = strconv.Atoi(m[2]) // two digits
	}
	if l, known = named[m[1]+"C"+strconv.Itoa(channels)]; known {
		return l, true
	}
	bits, _ := strconv.Atoi(m[1][:len(m[1])-1]) // of the expression
	l = Layout{kind: values, depth: bits / 8, channels: channels}
	switch m[1][len(m[1])-1] {
	case 'S':
		l.number = signed
	case 'F':
		l.number = floating
	}
	return l, channels > 0
}

// Bytes returns the bytes of a pixel in the first plane.
func (l Layout) Bytes() int { return l.depth * l.channels }

// extra returns the bytes of the planes after the first one.
func (l Layout) extra(f *Frame) int64 {
	if l.kind != yuvPlanes {
		return 0
	}
	share := l.order[2]
	return int64((f.Width+share-1)/share) * 2 * int64((f.Height+share-1)/share)
}
