// Package rosbag has the words of every recording of ROS messages, whatever its format: what a
// connection, a message and its time are, which messages are selected, and what an error says. A
// recording that is read is a Source, one that is written a Sink. Package bagfmt reads and writes
// bags in these words.
package rosbag
