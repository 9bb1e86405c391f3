package mapping

import (
	_ "embed" // the tables
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros2/msg"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// noeticText has the fields and constants of the types that ship with ROS 1 noetic.
//
//go:embed noetic.txt
var noeticText string

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

// onlyROS1 says that a type of noetic.txt does not ship with ROS 2: generated from actions,
// renamed, or without a successor.
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

// tables has the text of the types that ship with ROS.
type tables struct {
	noetic map[string]string // by "pkg/Type"
	ros2   map[string]string // by "pkg/msg/Type", for one distribution
}

func newTables(d Distro) *tables {
	t := &tables{noetic: make(map[string]string), ros2: make(map[string]string)}
	for header, body := range tableBlocks(noeticText) {
		t.noetic[header] = body
	}
	for header, body := range tableBlocks(ros2Text) {
		name, since, _ := strings.Cut(header, " since ")
		if d.atLeast(Distro(since)) { // the newest is last
			t.ros2[msg.FullName(name)] = body
		}
	}
	return t
}

// tableBlocks yields what follows "MSG: " and the lines after it.
func tableBlocks(text string) func(yield func(header, body string) bool) {
	return func(yield func(header, body string) bool) {
		for block := range strings.SplitSeq(strings.TrimPrefix(text, "MSG: "), "\nMSG: ") {
			header, body, _ := strings.Cut(block, "\n")
			if body != "" && !strings.HasSuffix(body, "\n") {
				body += "\n"
			}
			if !yield(header, body) {
				return
			}
		}
	}
}

// primitives1 are the types of ROS 1 that are no messages.
const primitives1 = " bool int8 byte uint8 char int16 uint16 int32 uint32 int64 uint64 float32 float64 string time duration "

func isPrimitive1(typ string) bool { return strings.Contains(primitives1, " "+typ+" ") }

// uses1 returns the full names of the messages that the text of a ROS 1 type uses, in the
// order of their first use.
func uses1(name, text string) []string {
	pkg, _, _ := strings.Cut(name, "/")
	var all []string
	for line := range strings.Lines(text) {
		typ, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		base, _, _ := strings.Cut(typ, "[")
		switch {
		case base == "" || isPrimitive1(base) || strings.Contains(rest, "="):
			continue
		case base == "Header":
			base = "std_msgs/Header"
		case !strings.Contains(base, "/"):
			base = pkg + "/" + base
		}
		all = append(all, base)
	}
	return all
}

var separator = strings.Repeat("=", 80)

// definition1 is the definition of a ROS 1 type with all that it uses. Text of a type comes
// from own, and else from the table.
func (t *tables) definition1(name string, own map[string]string) string {
	var b strings.Builder
	seen := map[string]bool{name: true}
	var walk func(name string)
	walk = func(name string) {
		text, ok := own[name]
		if !ok {
			text = t.noetic[name]
		}
		b.WriteString(text + "\n") // as ROS does; its Python needs a line in a block without fields
		for _, used := range uses1(name, text) {
			if !seen[used] {
				seen[used] = true
				b.WriteString(separator + "\nMSG: " + used + "\n")
				walk(used)
			}
		}
	}
	walk(name)
	return strings.TrimSuffix(b.String(), "\n")
}

// stock1 returns a type that ships with noetic, or nil.
func (t *tables) stock1(name string) *rosmsg.Type {
	if _, ok := t.noetic[name]; !ok {
		return nil
	}
	typ, err := rosmsg.Parse(name, t.definition1(name, nil))
	if err != nil {
		panic("mapping: table of noetic: " + err.Error())
	}
	return typ
}
