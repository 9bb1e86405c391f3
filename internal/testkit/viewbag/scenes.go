package viewbag

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/aler9/goroslib/pkg/msgs/diagnostic_msgs"
	"github.com/aler9/goroslib/pkg/msgs/geometry_msgs"
	"github.com/aler9/goroslib/pkg/msgs/nav_msgs"
	"github.com/aler9/goroslib/pkg/msgs/rosgraph_msgs"
	"github.com/aler9/goroslib/pkg/msgs/sensor_msgs"
	"github.com/aler9/goroslib/pkg/msgs/std_msgs"
	"github.com/aler9/goroslib/pkg/msgs/tf2_msgs"
)

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// byTime returns messages in the order of time.
func byTime(messages []message) []message {
	slices.SortStableFunc(messages, func(a, b message) int { return cmp.Compare(a.at, b.at) })
	return messages
}

func head(at float64, frame string) std_msgs.Header {
	return std_msgs.Header{Stamp: start.Add(seconds(at)).Std(), FrameId: frame}
}

// scenes returns a topic of each type with a simple picture, and what is wrong in hostile ways.
func scenes() (all []message) {
	add := func(topic string, at float64,
		msg any,
	) {
		all = append(all, message{topic: topic, at: at, msg: msg})
	}
	latched := func(topic, caller string, msg any) {
		all = append(all, message{topic: topic, caller: caller, latch: true, msg: msg})
	}
	grid := nav_msgs.OccupancyGrid{
		Header: head(0, "map"),
		Info:   nav_msgs.MapMetaData{Resolution: 0.5, Width: 4, Height: 2},
		Data:   []int8{0, 100, -1, 50, 0, 0, 0, 0},
	}
	latched("/map", "/map_server", grid)
	latched("/tf_static", "/frames", transforms(0, "laser of base_link", Script+" of base_link"))
	path := nav_msgs.Path{Header: head(0, "map")}
	for i := range 20 {
		path.Poses = append(path.Poses,
			geometry_msgs.PoseStamped{Pose: geometry_msgs.Pose{Position: geometry_msgs.Point{
				X: float64(i),
				Y: float64(i * i),
			}}})
	}
	add("/path", 1, path)
	for i := range 10 * Seconds {
		at := float64(i) / 10
		sin, cos := math.Sincos(at)
		add("/scan", at,
			sensor_msgs.LaserScan{
				Header: head(at, "laser"), AngleIncrement: math.Pi / 2, RangeMax: 10,
				Ranges: []float32{1, 2, 3, float32(math.Inf(1))},
			})
		odometry := nav_msgs.Odometry{Header: head(at, "odom")}
		odometry.Pose.Pose.Position = geometry_msgs.Point{X: 5 * cos, Y: 5 * sin}
		add("/odom", at, odometry)
		add("/tf", at, transforms(at, "odom of map", "base_link of odom"))
	}
	for i := range Seconds {
		at := float64(i)
		add("/cloud", at, cloud(at))
		add("/fix", at, sensor_msgs.NavSatFix{Header: head(at, "gps"), Latitude: 48 + at/1e4, Longitude: 11})
		add("/diagnostics", at,
			diagnostic_msgs.DiagnosticArray{Header: head(at, ""), Status: []diagnostic_msgs.DiagnosticStatus{
				{
					Name: "/motor", Level: int8(min(2, i/4)), Message: Script, HardwareId: Script,
					Values: []diagnostic_msgs.KeyValue{{Key: Script, Value: Script}},
				},
				{Name: Script, Message: "fine"},
			}})
		add("/rosout", at,
			rosgraph_msgs.Log{
				Header: head(at, ""), Level: []int8{2, 4, 8}[i%3], Name: "/node" + Script,
				Msg: fmt.Sprintf("line %d %s", i, Script), File: Script, Line: 7,
			})
		add("/loop", at, transforms(at, "a of c", "b of a", "c of b", "d of a", "d of b"))
	}
	broken := cloud(0)
	broken.Fields[1].Offset = 4_000_000_000
	add("/hostile/cloud", 0, broken)
	grid.Info.Width, grid.Info.Height = math.MaxUint32, math.MaxUint32
	add("/hostile/map", 0, grid)
	add("/hostile/tree", 0, tree())
	add("/hostile/text", 0, std_msgs.String{Data: Script})
	return all
}

func cloud(at float64) sensor_msgs.PointCloud2 {
	m := sensor_msgs.PointCloud2{Header: head(at, "lidar"), Height: 1, Width: 4, PointStep: 12, RowStep: 48}
	for i, name := range []string{"x", "y", "z"} {
		m.Fields = append(m.Fields,
			sensor_msgs.PointField{Name: name, Offset: uint32(4 * i), Datatype: 7, Count: 1})
	}
	for _, v := range []float32{0, 0, 0, 1, 0, 1, 0, 1, 2, 1, 1, 3} {
		m.Data = binary.LittleEndian.AppendUint32(m.Data, math.Float32bits(v))
	}
	return m
}

// transforms makes a message of frames, as "child of parent".
func transforms(at float64, frames ...string) tf2_msgs.TFMessage {
	var m tf2_msgs.TFMessage
	for _, f := range frames {
		i := len(f) - len(" of ")
		for f[i:i+4] != " of " {
			i--
		}
		m.Transforms = append(m.Transforms, geometry_msgs.TransformStamped{
			Header: head(at, f[i+4:]), ChildFrameId: f[:i],
			Transform: geometry_msgs.Transform{Rotation: geometry_msgs.Quaternion{W: 1}},
		})
	}
	return m
}

// cameras returns topics with pictures that get hints: one in the dark, one that is frozen after three
// seconds, and one that is out of focus after eight.
func cameras() (all []message) {
	for i := range 2 * Seconds {
		at := float64(i) / 2
		gray := func(topic string, level func(x, y int) uint8) {
			m := sensor_msgs.Image{
				Header: head(at, "camera"), Encoding: "mono8", Width: 64, Height: 48,
				Step: 64,
			}
			for y := range 48 {
				for x := range 64 {
					m.Data = append(m.Data, level(x, y))
				}
			}
			all = append(all, message{topic: topic, at: at, msg: m})
		}
		board := func(x, y, shift int) uint8 { return uint8(60 + 120*((x+shift)/8%2^y/8%2)) }
		gray("/camera/good", func(x, y int) uint8 { return board(x, y, i) })
		gray("/camera/dark", func(x, y int) uint8 { return board(x, y, i) / 16 })
		gray("/camera/frozen", func(x, y int) uint8 { return board(x, y, min(i, 6)) })
		gray("/camera/blurred", func(x, y int) uint8 {
			if at >= 8 {
				return uint8(60 + x + y)
			}
			return board(x, y, i)
		})
	}
	return all
}
