//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"time"

	"github.com/aler9/goroslib/pkg/msgproc"
	"github.com/aler9/goroslib/pkg/msgs/geometry_msgs"
	"github.com/aler9/goroslib/pkg/msgs/sensor_msgs"
	"github.com/aler9/goroslib/pkg/msgs/std_msgs"
	"github.com/aler9/goroslib/pkg/msgs/tf2_msgs"
	"github.com/aler9/goroslib/pkg/protocommon"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/test/load"
)

// sensor is a bag of one topic with messages that ROS 2 has a type for, without compression.
type sensor struct {
	topic   string
	message func(seed uint64) any // a pointer, as the encoder of goroslib wants; noise differs by seed
	header  int                   // offset of the std_msgs/Header in the encoded message
	count   int
	period  time.Duration
}

var (
	images     = sensor{topic: "/camera/image", message: image, count: 280, period: 33 * time.Millisecond}
	clouds     = sensor{topic: "/points", message: cloud, count: 256, period: 100 * time.Millisecond}
	transforms = sensor{topic: "/tf", message: transform, header: 4, count: 300_000, period: time.Millisecond}
	imus       = sensor{topic: "/imu/data", message: imu, count: 200_000, period: time.Millisecond}
)

// image has 640 x 480 pixels of three bytes: 0.9 MB.
func image(seed uint64) any {
	m := &sensor_msgs.Image{
		Header: std_msgs.Header{FrameId: "camera"}, Width: 640, Height: 480, Step: 3 * 640, Encoding: "rgb8",
		Data: make([]byte, 3*640*480),
	}
	load.FillFrom(m.Data, seed)
	return m
}

// cloud has 32 rings of 2048 points of 16 bytes: 1 MiB.
func cloud(seed uint64) any {
	const rings, points, pointBytes = 32, 2048, 16
	m := &sensor_msgs.PointCloud2{
		Header: std_msgs.Header{FrameId: "lidar"}, Height: rings, Width: points, PointStep: pointBytes, RowStep: points * pointBytes, IsDense: true,
	}
	for i, name := range []string{"x", "y", "z", "intensity"} {
		m.Fields = append(m.Fields, sensor_msgs.PointField{Name: name, Offset: uint32(4 * i), Datatype: sensor_msgs.PointField_FLOAT32, Count: 1})
	}
	noise := rand.New(rand.NewPCG(seed, 2))
	for ring := range rings {
		for point := range points {
			far := 8 + math.Sin(float64(point)/200) + 0.01*noise.NormFloat64()
			angle, tilt := 2*math.Pi*float64(point)/points, (float64(ring)-rings/2)*math.Pi/180
			for _, v := range []float64{
				far * math.Cos(tilt) * math.Cos(angle), far * math.Cos(tilt) * math.Sin(angle), far * math.Sin(tilt), float64(noise.IntN(256)),
			} {
				m.Data = binary.LittleEndian.AppendUint32(m.Data, math.Float32bits(float32(v)))
			}
		}
	}
	return m
}

func transform(uint64) any {
	return &tf2_msgs.TFMessage{Transforms: []geometry_msgs.TransformStamped{{
		Header: std_msgs.Header{FrameId: "odom"}, ChildFrameId: "base_footprint",
		Transform: geometry_msgs.Transform{Translation: geometry_msgs.Vector3{X: 1.5, Y: -0.2}, Rotation: geometry_msgs.Quaternion{W: 1}},
	}}}
}

func imu(uint64) any {
	return &sensor_msgs.Imu{
		Header: std_msgs.Header{FrameId: "imu_link"}, Orientation: geometry_msgs.Quaternion{W: 1},
		AngularVelocity: geometry_msgs.Vector3{Z: 0.63}, LinearAcceleration: geometry_msgs.Vector3{Y: 0.59, Z: 9.81},
	}
}

// variants is how many messages differ in more than their headers: more than the window of a
// compressor holds, for large messages.
const variants = 8

// encode returns the messages that the bag holds in turn.
func (s sensor) encode() (all [variants][]byte, err error) {
	for i := range all {
		var frame bytes.Buffer
		if err := protocommon.MessageEncode(&frame, s.message(uint64(i))); err != nil {
			return all, err
		}
		all[i] = frame.Bytes()[4:] // after the length of the frame
	}
	return all, nil
}

// write makes the bag. Each message has a number and a stamp of its own in its header.
func (s sensor) write(path string) (err error) {
	message := reflect.ValueOf(s.message(0)).Elem().Interface() // not a pointer, as msgproc wants
	typ, err1 := msgproc.Type(message)
	md5sum, err2 := msgproc.MD5(message)
	definition, err3 := msgproc.Definition(message)
	all, err4 := s.encode()
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{})
	if err != nil {
		return err
	}
	conn, err := w.AddConnection(s.topic, rosbag.Header{
		{Key: "callerid", Value: "/sensor"},
		{Key: "md5sum", Value: md5sum},
		{Key: "message_definition", Value: definition},
		{Key: "topic", Value: s.topic},
		{Key: "type", Value: typ},
	})
	if err != nil {
		return err
	}
	at := rosbag.Time{Sec: 1_600_000_000}
	for n := range s.count {
		data := all[n%variants]
		header := data[s.header:]
		binary.LittleEndian.PutUint32(header, uint32(n))
		binary.LittleEndian.PutUint32(header[4:], at.Sec)
		binary.LittleEndian.PutUint32(header[8:], at.Nsec)
		if err := w.Write(conn, at, data); err != nil {
			return err
		}
		at = at.Add(s.period)
	}
	return w.Close()
}
