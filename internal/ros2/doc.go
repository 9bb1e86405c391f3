// Package ros2 writes messages of ROS 1 as a recording of ROS 2, and reads a recording of ROS 2 as one of
// ROS 1.
//
// It owns the decisions about a recording as a whole: which topic has which type and quality of service,
// what becomes of several types or publishers on one topic, which file a message goes to, and the report
// of what was changed or lost. Package mapping converts types and payloads; packages db3, mcapwriter and
// bagfmt read and write the bytes of files. Commands that convert or read recordings call it.
//
// Decisions: ADR 0101.
package ros2
