package expr_test

import (
	"math"
	"testing"

	"github.com/gorosbag/gorosbag/internal/bags/expr"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestAdmits(t *testing.T) {
	t.Parallel()
	odom := &rosbag.Connection{Topic: "odom", Header: rosbag.Header{{Key: "type", Value: "nav_msgs/Odometry"}, {Key: "callerid", Value: "/base"}, {Key: "md5sum", Value: "cd5e73d190d741a2f92e81eda573aca7"}}}
	type answer struct{ some, all bool }
	for text, want := range map[string]answer{
		`topic == "/odom"`: {true, true},
		`topic == "odom" and m.pose.pose.position.x > 1`:                         {true, false},
		`topic == "/scan" and m.ranges[0] > 1`:                                   {false, false},
		`m.x > 1 && t > 5 && topic in ["/scan", "/imu"]`:                         {false, false},
		`topic == "/scan" or m.x > 1`:                                            {true, false},
		`not (topic == "/scan" and m.x > 1)`:                                     {true, false},
		`topic startsWith "/o" and type matches "Odom" and callerid == "/base"`:  {true, true},
		`type matches "^sensor_" and m.x > 1`:                                    {false, false},
		`md5sum == "1" and m.x > 1`:                                              {false, false},
		`(topic == "/odom" or type == "x") and (callerid != "/base" or m.x > 1)`: {true, false},
		`(topic == "/scan" or type == "x") and m.x > 1`:                          {false, false},
		`topic matches callerid + "(" and m.x > 1`:                               {true, false}, // no regular expression: each message says so
		`any(["/a", "/b"], # == topic) and m.x == 1`:                             {false, false},
		`topic == "/odom" and t > 1`:                                             {true, false},
		`topic == m.frame_id`:                                                    {true, false},
		`1 == 2`:                                                                 {false, false},
	} {
		p, err := expr.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if some, all := p.Admits(odom); (answer{some, all}) != want {
			t.Errorf("%s: %v, %v", text, some, all)
		}
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	type window struct{ from, to uint32 } // 0: none. What the expression has, to the second
	for text, want := range map[string]window{
		`t > 100`:                                    {100, 0},
		`t >= 100.0 and m.x > 1 and t < 200`:         {100, 200},
		`100 <= t && 300 > t && t <= 200 and t > 50`: {100, 200},
		`ns > 100000000000 and ns <= 200000000000`:   {100, 200},
		`t == 100`:                  {100, 100},
		`t != 100`:                  {},
		`100 != t`:                  {},
		`t > m.x`:                   {},
		`t > 100 or m.x == 1`:       {},
		`not (t > 100)`:             {},
		`t + 1 > 100`:               {},
		`m.t > 100`:                 {},
		`t < -5`:                    {0, 1},
		`t >= 0`:                    {},
		`t == 0`:                    {0, 1},
		`t > -1 and ns >= 0`:        {},
		`t > 1e300`:                 {math.MaxUint32, 0},
		`t < 1e300 and t > -1e300`:  {0, math.MaxUint32},
		`topic == "/a" and t < 150`: {0, 150},
	} {
		p, err := expr.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		start, end := p.Window()
		near := func(got rosbag.Time, want uint32, least, most float64) bool {
			at := float64(got.Sec) + float64(got.Nsec)/1e9
			return want == 0 && got.IsZero() || want == 1 && at < 6 || want == math.MaxUint32 && got.Sec == want || at >= float64(want)+least && at <= float64(want)+most
		}
		if !near(start, want.from, -5.1, -4.3) || !near(end, want.to, 4.3, 5.1) || want.to == 0 && !end.IsZero() || want.to != 0 && end.IsZero() {
			t.Errorf("%s: from %v to %v", text, start, end)
		}
	}
}
