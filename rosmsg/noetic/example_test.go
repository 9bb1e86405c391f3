package noetic_test

import (
	"errors"
	"fmt"

	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
)

// Encode and decode a message that ships with ROS.
func Example() {
	twist, err := noetic.Parse("geometry_msgs/Twist")
	if err != nil {
		panic(err)
	}
	payload, err := twist.Encode(map[string]any{"linear": map[string]any{"x": 0.5}})
	if err != nil {
		panic(err)
	}
	m, err := twist.Decode(payload)
	if err != nil {
		panic(err)
	}
	fmt.Println(twist.MD5Sum(), len(payload), m.Get("linear").(*rosmsg.Message).Get("x"))
	if _, err := noetic.Parse("my_msgs/Wheel"); errors.Is(err, noetic.ErrUnknown) {
		fmt.Println(err)
	}
	// Output:
	// 9f195f881246fdfa2798d1d3eebca84a 48 0.5
	// noetic has no type "my_msgs/Wheel"
}

// A message of your own, of the texts of .msg files.
func ExampleCompose() {
	files := map[string]string{"my_msgs/Wheel": "Header header\nfloat32 speed\n"}
	definition := noetic.Compose("my_msgs/Wheel", func(name string) (string, bool) {
		if text, ok := files[name]; ok {
			return text, true
		}
		return noetic.Text(name)
	})
	wheel, err := rosmsg.Parse("my_msgs/Wheel", definition)
	if err != nil {
		panic(err)
	}
	fmt.Println(wheel.MD5Sum(), len(wheel.Definition()))
	// Output: d97c628937d47552ba5fcce4399ed962 169
}
