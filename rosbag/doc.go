// Package rosbag has what all recordings of ROS messages share: connections, messages, times, queries,
// errors. A recording that is read is a [Source], one that is written a [Sink]. Package bagfmt reads and
// writes bags.
package rosbag
