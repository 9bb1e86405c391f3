package main

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/aler9/goroslib/pkg/msgproc"
	"github.com/aler9/goroslib/pkg/msgs/diagnostic_msgs"
	"github.com/aler9/goroslib/pkg/msgs/geometry_msgs"
	"github.com/aler9/goroslib/pkg/msgs/nav_msgs"
	"github.com/aler9/goroslib/pkg/msgs/sensor_msgs"
	"github.com/aler9/goroslib/pkg/msgs/std_msgs"
	"github.com/aler9/goroslib/pkg/msgs/tf2_msgs"
	"github.com/aler9/goroslib/pkg/protocommon"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// The drive: one circle in ten seconds.
const (
	length = 10 * time.Second
	radius = 1.5
	turn   = 2 * math.Pi / 10 // rad/s
	room   = 3.0              // half the width of the square room, in meters
)

// begin is when the drive started. Fixed, so that the bag is the same each time.
var begin = time.Date(2025, time.May, 31, 9, 0, 0, 0, time.UTC)

// stream is one publisher of one topic.
type stream struct {
	topic, callerID string
	latching        bool
	every           time.Duration // zero means once
	offset          time.Duration
	message         func(at time.Time, seq uint32) any
}

var streams = []stream{
	{"/tf_static", "/base_frames", true, 0, 5 * time.Millisecond, baseFrames},
	{"/tf_static", "/laser_frames", true, 0, 9 * time.Millisecond, laserFrames},
	{"/map", "/map_server", true, 0, 12 * time.Millisecond, roomMap},
	{"/tf", "/odometry", false, 20 * time.Millisecond, 15 * time.Millisecond, transform},
	{"/odom", "/odometry", false, 20 * time.Millisecond, 15200 * time.Microsecond, odometry},
	{"/imu/data", "/imu_driver", false, 10 * time.Millisecond, 3 * time.Millisecond, imu},
	{"/scan", "/laser_driver", false, 100 * time.Millisecond, 31 * time.Millisecond, scan},
	{"/camera/image/compressed", "/camera_driver", false, 200 * time.Millisecond, 57 * time.Millisecond, picture},
	{"/diagnostics", "/diagnostics_publisher", false, time.Second, 140 * time.Millisecond, diagnostics},
}

// event is one message that is due.
type event struct {
	at     time.Time
	stream int
	seq    uint32
}

func events() []event {
	var all []event
	for i, s := range streams {
		seq := uint32(1)
		for at := s.offset; at < length; at += s.every {
			all = append(all, event{begin.Add(at), i, seq})
			if s.every == 0 {
				break
			}
			seq++
		}
	}
	slices.SortStableFunc(all, func(a, b event) int { return a.at.Compare(b.at) })
	return all
}

// write writes the bag.
func write(out io.Writer) error {
	// The index position is written at the end, so the bag is made in memory.
	var buf memory
	w, err := bagfmt.NewWriter(&buf, bagfmt.WriterOptions{Compression: rosbag.CompressionLZ4, ChunkBytes: 128 << 10})
	if err != nil {
		return err
	}
	conns := make([]*rosbag.Connection, len(streams))
	for i, s := range streams {
		if conns[i], err = connect(w, s); err != nil {
			return fmt.Errorf("%s: %w", s.topic, err)
		}
	}
	var frame bytes.Buffer
	for _, e := range events() {
		frame.Reset()
		msg := reflect.ValueOf(streams[e.stream].message(e.at, e.seq))
		ptr := reflect.New(msg.Type()) // the encoder wants a pointer
		ptr.Elem().Set(msg)
		if err := protocommon.MessageEncode(&frame, ptr.Interface()); err != nil {
			return fmt.Errorf("%s: %w", streams[e.stream].topic, err)
		}
		if err := w.Write(conns[e.stream], rosbag.TimeOf(e.at), frame.Bytes()[4:]); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	_, err = out.Write(buf)
	return err
}

// connect adds the connection of s with the header that its publisher would send.
func connect(w *bagfmt.Writer, s stream) (*rosbag.Connection, error) {
	msg := s.message(begin, 0)
	typ, err1 := msgproc.Type(msg)
	md5sum, err2 := msgproc.MD5(msg)
	definition, err3 := msgproc.Definition(msg)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	latching := "0"
	if s.latching {
		latching = "1"
	}
	return w.AddConnection(s.topic, rosbag.Header{
		{Key: "callerid", Value: s.callerID},
		{Key: "latching", Value: latching},
		{Key: "md5sum", Value: md5sum},
		{Key: "message_definition", Value: definition},
		{Key: "topic", Value: s.topic},
		{Key: "type", Value: typ},
	})
}

// memory is an io.Writer and io.WriterAt.
type memory []byte

func (m *memory) Write(p []byte) (int, error) {
	*m = append(*m, p...)
	return len(p), nil
}

func (m *memory) WriteAt(p []byte, off int64) (int, error) {
	if off > int64(len(*m)) {
		return 0, io.ErrShortWrite
	}
	return copy((*m)[off:], p), nil
}

func header(at time.Time, seq uint32, frame string) std_msgs.Header {
	return std_msgs.Header{Seq: seq, Stamp: at, FrameId: frame}
}

// pose is where the robot is: x, y and heading.
func pose(at time.Time) (x, y, heading float64) {
	angle := turn * at.Sub(begin).Seconds()
	return radius * math.Sin(angle), radius*(1-math.Cos(angle)) - radius, angle
}

func yaw(angle float64) geometry_msgs.Quaternion {
	return geometry_msgs.Quaternion{Z: math.Sin(angle / 2), W: math.Cos(angle / 2)}
}

func fixed(at time.Time, parent, child string, x, z float64) geometry_msgs.TransformStamped {
	return geometry_msgs.TransformStamped{
		Header:       header(at, 0, parent),
		ChildFrameId: child,
		Transform:    geometry_msgs.Transform{Translation: geometry_msgs.Vector3{X: x, Z: z}, Rotation: yaw(0)},
	}
}

func baseFrames(at time.Time, _ uint32) any {
	return tf2_msgs.TFMessage{Transforms: []geometry_msgs.TransformStamped{
		fixed(at, "base_footprint", "base_link", 0, 0.08), fixed(at, "base_link", "imu_link", 0, 0.1),
	}}
}

func laserFrames(at time.Time, _ uint32) any {
	return tf2_msgs.TFMessage{Transforms: []geometry_msgs.TransformStamped{
		fixed(at, "base_link", "laser", 0.12, 0.18), fixed(at, "base_link", "camera", 0.15, 0.25),
	}}
}

func transform(at time.Time, _ uint32) any {
	x, y, heading := pose(at)
	return tf2_msgs.TFMessage{Transforms: []geometry_msgs.TransformStamped{{
		Header:       header(at, 0, "odom"),
		ChildFrameId: "base_footprint",
		Transform:    geometry_msgs.Transform{Translation: geometry_msgs.Vector3{X: x, Y: y}, Rotation: yaw(heading)},
	}}}
}

func odometry(at time.Time, seq uint32) any {
	x, y, heading := pose(at)
	m := nav_msgs.Odometry{Header: header(at, seq, "odom"), ChildFrameId: "base_footprint"}
	m.Pose.Pose = geometry_msgs.Pose{Position: geometry_msgs.Point{X: x, Y: y}, Orientation: yaw(heading)}
	m.Twist.Twist = geometry_msgs.Twist{Linear: geometry_msgs.Vector3{X: radius * turn}, Angular: geometry_msgs.Vector3{Z: turn}}
	m.Pose.Covariance[0], m.Pose.Covariance[7], m.Pose.Covariance[35] = 0.01, 0.01, 0.03
	return m
}

func imu(at time.Time, seq uint32) any {
	_, _, heading := pose(at)
	wobble := math.Sin(40 * at.Sub(begin).Seconds())
	m := sensor_msgs.Imu{Header: header(at, seq, "imu_link"), Orientation: yaw(heading)}
	m.AngularVelocity = geometry_msgs.Vector3{Z: turn + 0.002*wobble}
	m.LinearAcceleration = geometry_msgs.Vector3{Y: radius * turn * turn, X: 0.01 * wobble, Z: 9.81 + 0.02*wobble}
	return m
}

func scan(at time.Time, seq uint32) any {
	x, y, heading := pose(at)
	const rays = 180
	m := sensor_msgs.LaserScan{
		Header: header(at, seq, "laser"), AngleMin: -math.Pi, AngleMax: math.Pi, AngleIncrement: 2 * math.Pi / rays,
		ScanTime: 0.1, RangeMin: 0.05, RangeMax: 12, Ranges: make([]float32, rays),
	}
	for i := range m.Ranges {
		m.Ranges[i] = float32(toWall(x, y, heading-math.Pi+float64(i)*2*math.Pi/rays))
	}
	return m
}

// toWall is the distance from (x, y) to the wall of the room in direction angle.
func toWall(x, y, angle float64) float64 {
	far := func(at, slope float64) float64 {
		switch {
		case slope > 1e-9:
			return (room - at) / slope
		case slope < -1e-9:
			return (-room - at) / slope
		}
		return math.Inf(1)
	}
	return min(far(x, math.Cos(angle)), far(y, math.Sin(angle)))
}

func roomMap(at time.Time, _ uint32) any {
	const cells = 64
	m := nav_msgs.OccupancyGrid{Header: header(at, 0, "map"), Data: make([]int8, cells*cells)}
	m.Info = nav_msgs.MapMetaData{MapLoadTime: at, Resolution: 0.1, Width: cells, Height: cells}
	m.Info.Origin = geometry_msgs.Pose{Position: geometry_msgs.Point{X: -3.2, Y: -3.2}, Orientation: yaw(0)}
	for i := range m.Data {
		if x, y := i%cells, i/cells; min(x, y, cells-1-x, cells-1-y) < 2 {
			m.Data[i] = 100
		}
	}
	return m
}

// picture is what the camera sees: the wall gets lighter and darker on the way.
func picture(at time.Time, seq uint32) any {
	_, _, heading := pose(at)
	img := image.NewGray(image.Rect(0, 0, 64, 48))
	for y := range 48 {
		for x := range 64 {
			wall := 128 + 80*math.Sin(heading+float64(x)/20)
			if y > 30 {
				wall = 40
			}
			img.SetGray(x, y, color.Gray{Y: uint8(wall)})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 60}); err != nil {
		panic(err) // a bytes.Buffer takes everything
	}
	return sensor_msgs.CompressedImage{Header: header(at, seq, "camera"), Format: "jpeg", Data: b.Bytes()}
}

func diagnostics(at time.Time, seq uint32) any {
	volts := 25.1 - 0.01*at.Sub(begin).Seconds()
	return diagnostic_msgs.DiagnosticArray{Header: header(at, seq, ""), Status: []diagnostic_msgs.DiagnosticStatus{{
		Name: "battery", Message: "discharging", HardwareId: "bms0",
		Values: []diagnostic_msgs.KeyValue{{Key: "voltage", Value: fmt.Sprintf("%.2f", volts)}},
	}}}
}
