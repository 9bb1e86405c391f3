// Package rosbag2 knows what a recording of ROS 2 says about itself: its topics, the quality of
// service that publishers offered, the text of metadata.yaml, and which files belong to a
// recording.
//
// It reads and writes texts and lists directories through io/fs. It opens no storage file:
// packages db3, bagfmt and mcapwriter do. It decodes no message.
package rosbag2

// Topic is a topic of a recording.
type Topic struct {
	Name          string
	Type          string // "pkg/msg/Type"
	Serialization string // "cdr" in every recording of today
	QoS           string // profiles offered by publishers, as YAML: see ParseQoS; empty means unknown
	Hash          string // RIHS01 hash of the type; empty means unknown
	Encoding      string // of Definition: "ros2msg" or "ros2idl"; empty means that there is none
	Definition    string // of the type, and of the types that it consists of
}

// Storage identifiers, as metadata.yaml has them.
const (
	MCAP   = "mcap"
	SQLite = "sqlite3"
)
