package rosmsg_test

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/gorosbag/gorosbag/rosmsg"
)

// pointStamped is what the connection header of a topic says.
const pointStamped = `Header header
Point point
================================================================================
MSG: std_msgs/Header
uint32 seq
time stamp
string frame_id
================================================================================
MSG: geometry_msgs/Point
float64 x
float64 y
float64 z
`

// payload is a message as a bag stores it.
func payload() []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 7)
	b = le.AppendUint32(le.AppendUint32(b, 1_700_000_000), 250_000_000)
	b = append(b, "\x03\x00\x00\x00map"...)
	for _, x := range []float64{1, 2.5, 0} {
		b = le.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

func Example() {
	t, err := rosmsg.Parse("geometry_msgs/PointStamped", pointStamped)
	if err != nil {
		panic(err)
	}
	line, err := t.AppendJSON(nil, payload(), rosmsg.JSONOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(t.MD5Sum())
	fmt.Printf("%s\n", line)
	// Output:
	// c63aecb41bfdfd6b7e1fac37c7cbe7bf
	// {"header":{"seq":7,"stamp":{"secs":1700000000,"nsecs":250000000},"frame_id":"map"},"point":{"x":1.0,"y":2.5,"z":0.0}}
}

func ExampleType_Path() {
	t, err := rosmsg.Parse("geometry_msgs/PointStamped", pointStamped)
	if err != nil {
		panic(err)
	}
	y, err := t.Path("point.y")
	if err != nil {
		panic(err)
	}
	v, err := y.Lookup(payload()) // for each message; allocates nothing
	if err != nil {
		panic(err)
	}
	fmt.Println(v.Type(), v.Float())
	// Output: float64 2.5
}

func ExampleType_Decode() {
	t, err := rosmsg.Parse("geometry_msgs/PointStamped", pointStamped)
	if err != nil {
		panic(err)
	}
	m, err := t.Decode(payload())
	if err != nil {
		panic(err)
	}
	for i, f := range t.Fields() {
		fmt.Printf("%s %s: %T\n", f.Type, f.Name, m.Values[i])
	}
	fmt.Println(m.Get("point").(*rosmsg.Message).Values)
	// Output:
	// std_msgs/Header header: *rosmsg.Message
	// geometry_msgs/Point point: *rosmsg.Message
	// [1 2.5 0]
}

func ExampleValue_AppendText() {
	t, err := rosmsg.Parse("geometry_msgs/PointStamped", pointStamped)
	if err != nil {
		panic(err)
	}
	point, err := t.Lookup(payload(), "point")
	if err != nil {
		panic(err)
	}
	text, err := point.AppendText(nil, rosmsg.TextOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", text)
	// Output:
	// x: 1.0
	// y: 2.5
	// z: 0.0
}
