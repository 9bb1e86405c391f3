package mapping

import (
	_ "embed" // the tables
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros2/msg"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
)

// ros2Text has those of the types of ROS 2 that are not what the rules of this package
// make of the ROS 1 type, and the distribution since which they are so.
//
//go:embed ros2.txt
var ros2Text string

// renames are the types that ship with both under different names.
var renames = map[string]string{
	"tf/tfMessage":      "tf2_msgs/msg/TFMessage",
	"rosgraph_msgs/Log": "rcl_interfaces/msg/Log",
	"std_msgs/Time":     msg.TimeType,
	"std_msgs/Duration": msg.DurationType,
}

// renamesBack maps the names of ROS 2 to those of ROS 1. tf2_msgs/TFMessage ships with both.
var renamesBack = map[string]string{
	"rcl_interfaces/msg/Log": "rosgraph_msgs/Log",
	msg.TimeType:             "std_msgs/Time",
	msg.DurationType:         "std_msgs/Duration",
}

// apart are the packages whose types are in the tables for recordings without definitions only. Some of
// them are not the same in ROS 1 and ROS 2: they have other fields of the same meaning. A conversion to
// the type of the other side would lose values, so that messages of these packages keep all their fields,
// in a type of the same name.
var apart = map[string]bool{
	"ackermann_msgs": true, "bond": true, "control_msgs": true, "example_interfaces": true,
	"geographic_msgs": true, "map_msgs": true, "move_base_msgs": true,
	"nmea_msgs": true, "octomap_msgs": true, "pcl_msgs": true, "rmw_dds_common": true,
	"rosbag2_interfaces": true, "test_msgs": true,
	"turtlesim": true, "uuid_msgs": true, "vision_msgs": true,
}

// isApart reports whether the name of a type, in ROS 1 or in ROS 2, begins with one of these packages.
func isApart(name string) bool {
	pkg, _, _ := strings.Cut(name, "/")
	return apart[pkg]
}

// onlyROS1 says that a type of noetic does not ship with ROS 2: generated from actions, renamed, or without a
// successor.
func onlyROS1(name string) bool {
	if _, renamed := renames[name]; renamed || name == "rosgraph_msgs/TopicStatistics" {
		return true
	}
	for _, prefix := range []string{"roscpp/", "nav_msgs/GetMap", "tf2_msgs/LookupTransform"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// tableOf has the text of the types of one distribution of ROS 2 by "pkg/msg/Type".
func tableOf(d Distro) map[string]string {
	all := make(map[string]string)
	for header, body := range noetic.Table(ros2Text) {
		name, since, _ := strings.Cut(header, " since ")
		if d.atLeast(Distro(since)) { // the newest is last
			all[msg.FullName(name)] = body
		}
	}
	return all
}

// compose1 is the definition of a ROS 1 type with all that it uses. Text of a type comes from own, and
// else from the table of noetic.
func compose1(name string, own map[string]string) string {
	return noetic.Compose(name, func(name string) (string, bool) {
		if text, ok := own[name]; ok {
			return text, true
		}
		return noetic.Text(name)
	})
}

// stock1 returns a type that ships with noetic, or nil.
func stock1(name string) *rosmsg.Type {
	definition, _, ok := noetic.Definition(name)
	if !ok {
		return nil
	}
	typ, err := rosmsg.Parse(name, definition)
	if err != nil {
		panic("mapping: table of noetic: " + err.Error())
	}
	return typ
}
