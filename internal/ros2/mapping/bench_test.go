package mapping_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
)

// payload makes ROS 1 payloads by hand.
type payload []byte

func (p payload) u8(v ...byte) payload { return append(p, v...) }

func (p payload) u32(v ...uint32) payload {
	for _, n := range v {
		p = binary.LittleEndian.AppendUint32(p, n)
	}
	return p
}

func (p payload) f64(v ...float64) payload {
	for _, n := range v {
		p = binary.LittleEndian.AppendUint64(p, math.Float64bits(n))
	}
	return p
}

func (p payload) text(s string) payload { return append(p.u32(uint32(len(s))), s...) }

func (p payload) header(frame string) payload { return p.u32(7, 1700000000, 5).text(frame) }

// samples are messages as robots send them, by type.
func samples() map[string]payload {
	return map[string]payload{
		"tf2_msgs/TFMessage": payload(nil).u32(1).header("odom").text("base_link").f64(1, 2, 3, 0, 0, 0, 1),
		"sensor_msgs/Imu":    payload(nil).header("imu_link").f64(make([]float64, 37)...),
		"sensor_msgs/Image":  payload(nil).header("camera").u32(480, 640).text("rgb8").u8(0).u32(1920, 921600).u8(make([]byte, 921600)...),
	}
}

func BenchmarkConvert(b *testing.B) {
	m := newMapper(b, mapping.Jazzy, mapping.Options{})
	for name, in := range samples() {
		there := stockTo2(b, m, name)
		back := to1(b, m, there.Type, there.Schema)
		message, err := there.Append(nil, in, nil)
		if err != nil {
			b.Fatal(err)
		}
		for direction, convert := range map[string]func(dst []byte) ([]byte, error){
			"to2": func(dst []byte) ([]byte, error) { return there.Append(dst, in, nil) },
			"to1": func(dst []byte) ([]byte, error) { return back.Append(dst, message, nil) },
		} {
			b.Run(fmt.Sprintf("%s/%s", direction, name), func(b *testing.B) {
				b.SetBytes(int64(len(in)))
				b.ReportAllocs()
				var dst []byte
				for b.Loop() {
					if dst, err = convert(dst[:0]); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// TestNoAllocations checks that a message costs no allocation once the buffer is there.
func TestNoAllocations(t *testing.T) {
	m := newMapper(t, mapping.Jazzy, mapping.Options{})
	for name, in := range samples() {
		there := stockTo2(t, m, name)
		back := to1(t, m, there.Type, there.Schema)
		var n mapping.Counts
		dst, again := make([]byte, 0, 1<<20), make([]byte, 0, 1<<20)
		if got := testing.AllocsPerRun(10, func() {
			message, err := there.Append(dst, in, &n)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := back.Append(again, message, &n); err != nil {
				t.Fatal(err)
			}
		}); got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}
