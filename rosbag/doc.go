// Package rosbag has what recordings share: connections, messages, times, queries, errors. A [Source] is
// read, a [Sink] written. Package bagfmt has those of bags.
package rosbag
