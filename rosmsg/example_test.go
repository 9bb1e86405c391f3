package rosmsg_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

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
	line, err := t.AppendJSON(nil, payload())
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

// A payload that ends early: the error says which field is missing, and where.
func ExampleDecodeError() {
	t, err := rosmsg.Parse("geometry_msgs/PointStamped", pointStamped)
	if err != nil {
		panic(err)
	}
	_, err = t.Decode(payload()[:30])
	var bad *rosmsg.DecodeError
	if errors.As(err, &bad) {
		fmt.Printf("%s at byte %d of a %s: %s\n", bad.Path, bad.Offset, bad.Type, bad.Reason)
	}
	fmt.Println(errors.Is(err, rosmsg.ErrCorrupt), errors.Is(err, io.ErrUnexpectedEOF))
	// Output:
	// point.y at byte 27 of a geometry_msgs/PointStamped: float64 of 8 bytes, 3 left
	// true true
}

// A definition that cannot be read: the error says in which line.
func ExampleDefinitionError() {
	_, err := rosmsg.Parse("my_msgs/Wheel", "float64 speed\nfloat64\n")
	var bad *rosmsg.DefinitionError
	if errors.As(err, &bad) {
		fmt.Printf("line %d of %s: %s\n", bad.Line, bad.Type, bad.Reason)
	}
	// Output:
	// line 2 of my_msgs/Wheel: want TYPE NAME, got "float64"
}

// A path that a type does not have.
func ExampleFieldError() {
	t, err := rosmsg.Parse("geometry_msgs/PointStamped", pointStamped)
	if err != nil {
		panic(err)
	}
	_, err = t.Path("point.w")
	var bad *rosmsg.FieldError
	if errors.As(err, &bad) {
		fmt.Printf("%s of %s: %s\n", bad.Path, bad.Type, bad.Reason)
	}
	// Output:
	// point.w of geometry_msgs/PointStamped: geometry_msgs/Point has no field "w": it has x, y, z
}

// Bytes are base64 in JSON.
func ExampleType_AppendJSON() {
	t, err := rosmsg.Parse("my_msgs/Blob", "uint8[] data")
	if err != nil {
		panic(err)
	}
	line, err := t.AppendJSON(nil, []byte("\x03\x00\x00\x00abc"))
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", line)
	// Output:
	// {"data":"YWJj"}
}

// A whole message as rostopic echo prints it.
func ExampleType_AppendText() {
	t, err := rosmsg.Parse("geometry_msgs/PointStamped", pointStamped)
	if err != nil {
		panic(err)
	}
	text, err := t.AppendText(nil, payload(), rosmsg.TextOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.ReplaceAll(string(text), " \n", "\n")) // a space ends the lines of messages
	// Output:
	// header:
	//   seq: 7
	//   stamp:
	//     secs: 1700000000
	//     nsecs: 250000000
	//   frame_id: "map"
	// point:
	//   x: 1.0
	//   y: 2.5
	//   z: 0.0
}

// The elements of an array, without decoding the message.
func ExampleValue_Index() {
	t, err := rosmsg.Parse("my_msgs/Speeds", "float32[] speeds")
	if err != nil {
		panic(err)
	}
	p, err := t.Path("speeds")
	if err != nil {
		panic(err)
	}
	v, err := p.Lookup([]byte("\x02\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x00\x40"))
	if err != nil {
		panic(err)
	}
	for i := range v.Len() {
		x, err := v.Index(i)
		if err != nil {
			panic(err)
		}
		fmt.Println(x.Float())
	}
	fmt.Println(p.Type())
	// Output:
	// 1
	// 2
	// float32[]
}

// A struct of Go whose fields have the names of those of the message.
func ExampleType_Encode() {
	t, err := rosmsg.Parse("geometry_msgs/PointStamped", pointStamped)
	if err != nil {
		panic(err)
	}
	type Header struct {
		Stamp   time.Time
		FrameID string
	}
	type Point struct{ X, Y, Z float64 }
	type PointStamped struct {
		Header Header
		Point  Point
	}
	data, err := t.Encode(PointStamped{Header{time.Unix(1700000000, 0), "map"}, Point{1, 2.5, 0}})
	if err != nil {
		panic(err)
	}
	line, err := t.AppendJSON(nil, data)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", line)
	// Output:
	// {"header":{"seq":0,"stamp":{"secs":1700000000,"nsecs":0},"frame_id":"map"},"point":{"x":1.0,"y":2.5,"z":0.0}}
}

// A value that does not fit, and a name that is not there: the error says where.
func ExampleEncodeError() {
	t, err := rosmsg.Parse("my_msgs/Wheels", "uint8[] speeds\nduration[] ages")
	if err != nil {
		panic(err)
	}
	for _, v := range []map[string]any{{"speeds": []int{1, 300}}, {"speed": 1}} {
		_, err = t.Append(nil, v)
		var bad *rosmsg.EncodeError
		if errors.As(err, &bad) {
			fmt.Printf("%q of %s: %s; %t\n", bad.Path, bad.Type, bad.Reason, errors.Is(err, rosmsg.ErrValue))
		}
	}
	// Output:
	// "speeds[1]" of my_msgs/Wheels: uint8: 300 does not fit; true
	// "" of my_msgs/Wheels: my_msgs/Wheels has no field "speed": it has speeds, ages; true
}

// Times and durations, which a payload may have in ways that Go does not.
func ExampleStamp() {
	t, err := rosmsg.Parse("my_msgs/Job", "time begun\nduration took")
	if err != nil {
		panic(err)
	}
	data, err := t.Encode(map[string]any{"begun": time.Unix(10, 5), "took": -time.Millisecond})
	if err != nil {
		panic(err)
	}
	m, err := t.Decode(data)
	if err != nil {
		panic(err)
	}
	begun, took := m.Get("begun").(rosmsg.Stamp), m.Get("took").(rosmsg.Span)
	fmt.Println(begun.Std(), took.Secs, took.Nsecs, took.Std())
	// Output: 1970-01-01 00:00:10.000000005 +0000 UTC -1 999000000 -1ms
}

// Decode a message, change a field, and encode it again.
func ExampleMessage_Set() {
	t, err := rosmsg.Parse("geometry_msgs/PointStamped", pointStamped)
	if err != nil {
		panic(err)
	}
	m, err := t.Decode(payload())
	if err != nil {
		panic(err)
	}
	if err := m.Get("header").(*rosmsg.Message).Set("frame_id", "world"); err != nil {
		panic(err)
	}
	changed, err := t.Encode(m)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(payload()), len(changed))
	// Output: 43 45
}
